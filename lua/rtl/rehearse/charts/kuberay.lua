--- The chart kuberay-operator: Deployment, Service, account, roles and the three CRDs, under the
-- names and with the values of the real one (ray-project/kuberay, helm-chart/kuberay-operator).

local helpers = require "rtl.rehearse.charts.helpers"

local M = { name = "kuberay-operator" }

--- Chart version → application version.
M.versions = { ["1.4.0"] = "1.4.0", ["1.4.2"] = "1.4.2", ["1.5.1"] = "1.5.1" }

local VALUES = [==[
nameOverride: kuberay-operator
fullnameOverride: kuberay-operator
image:
  repository: quay.io/kuberay/operator
  tag: v@VERSION@
  pullPolicy: IfNotPresent
labels: {}
annotations: {}
serviceAccount:
  create: true
  name: kuberay-operator
service:
  type: ClusterIP
  port: 8080
resources:
  limits:
    cpu: 100m
    memory: 512Mi
nodeSelector: {}
tolerations: []
affinity: {}
podSecurityContext: {}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
livenessProbe:
  initialDelaySeconds: 10
  periodSeconds: 5
  failureThreshold: 5
readinessProbe:
  initialDelaySeconds: 10
  periodSeconds: 5
  failureThreshold: 5
featureGates:
- name: RayClusterStatusConditions
  enabled: true
- name: RayJobDeletionPolicy
  enabled: false
leaderElectionEnabled: true
rbacEnable: true
crNamespacedRbacEnable: true
singleNamespaceInstall: false
watchNamespace: []
batchScheduler:
  enabled: false
  name: ""
env: []
]==]

local DEPLOYMENT = [==[
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "kuberay-operator.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "kuberay-operator.labels" . | nindent 4 }}
spec:
  replicas: 1
  strategy:
    type: Recreate
  selector:
    matchLabels:
      {{- include "kuberay-operator.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "kuberay-operator.selectorLabels" . | nindent 8 }}
        app.kubernetes.io/component: kuberay-operator
        {{- with .Values.labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.annotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ .Values.serviceAccount.name }}
      {{- with .Values.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
      - name: {{ .Chart.Name }}
        image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        command:
        - /manager
        args:
        {{- $gates := list }}
        {{- range .Values.featureGates }}
        {{- $gates = append $gates (printf "%s=%t" .name .enabled) }}
        {{- end }}
        {{- if $gates }}
        - --feature-gates={{ join "," $gates }}
        {{- end }}
        - --enable-leader-election={{ .Values.leaderElectionEnabled }}
        - --enable-metrics=true
        {{- if and .Values.watchNamespace (not .Values.singleNamespaceInstall) }}
        - --watch-namespace
        - {{ join "," .Values.watchNamespace | quote }}
        {{- end }}
        ports:
        - name: http
          containerPort: 8080
          protocol: TCP
        {{- with .Values.env }}
        env:
        {{- toYaml . | nindent 8 }}
        {{- end }}
        livenessProbe:
          httpGet:
            path: /metrics
            port: http
          {{- toYaml .Values.livenessProbe | nindent 10 }}
        readinessProbe:
          httpGet:
            path: /metrics
            port: http
          {{- toYaml .Values.readinessProbe | nindent 10 }}
        resources:
          {{- toYaml .Values.resources | nindent 10 }}
        securityContext:
          {{- toYaml .Values.securityContext | nindent 10 }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
]==]

local SERVICE = [==[
apiVersion: v1
kind: Service
metadata:
  name: {{ include "kuberay-operator.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "kuberay-operator.labels" . | nindent 4 }}
spec:
  type: {{ .Values.service.type }}
  ports:
  - port: {{ .Values.service.port }}
    targetPort: http
    protocol: TCP
    name: http
  selector:
    {{- include "kuberay-operator.selectorLabels" . | nindent 4 }}
]==]

local ACCOUNT = [==[
{{- if .Values.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Values.serviceAccount.name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "kuberay-operator.labels" . | nindent 4 }}
{{- end -}}
]==]

local ROLE = [==[
{{- if .Values.rbacEnable }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "kuberay-operator.fullname" . }}
  labels:
    {{- include "kuberay-operator.labels" . | nindent 4 }}
rules:
- apiGroups: [""]
  resources: [events, pods, pods/status, services, serviceaccounts]
  verbs: [create, delete, deletecollection, get, list, patch, update, watch]
- apiGroups: [""]
  resources: [endpoints]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods/proxy, services/status, services/proxy]
  verbs: [create, get, patch, update]
- apiGroups: [ray.io]
  resources: [rayclusters, rayjobs, rayservices]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [ray.io]
  resources: [rayclusters/finalizers, rayjobs/finalizers, rayservices/finalizers]
  verbs: [update]
- apiGroups: [ray.io]
  resources: [rayclusters/status, rayjobs/status, rayservices/status]
  verbs: [get, patch, update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, list, update]
- apiGroups: [networking.k8s.io]
  resources: [ingresses, ingressclasses]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [create, delete, get, list, update, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "kuberay-operator.fullname" . }}
  labels:
    {{- include "kuberay-operator.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "kuberay-operator.fullname" . }}
subjects:
- kind: ServiceAccount
  name: {{ .Values.serviceAccount.name }}
  namespace: {{ .Release.Namespace }}
{{- end }}
]==]

local ELECTION = [==[
{{- if .Values.leaderElectionEnabled }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "kuberay-operator.fullname" . }}-leader-election
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "kuberay-operator.labels" . | nindent 4 }}
rules:
- apiGroups: [""]
  resources: [configmaps, events]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, list, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "kuberay-operator.fullname" . }}-leader-election
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "kuberay-operator.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "kuberay-operator.fullname" . }}-leader-election
subjects:
- kind: ServiceAccount
  name: {{ .Values.serviceAccount.name }}
  namespace: {{ .Release.Namespace }}
{{- end }}
]==]

local CRD = [==[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: @PLURAL@.ray.io
spec:
  group: ray.io
  names:
    categories: [all]
    kind: @KIND@
    listKind: @KIND@List
    plural: @PLURAL@
    singular: @SINGULAR@
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
]==]

local function definition(kind)
  local singular = kind:lower()
  return (CRD:gsub("@KIND@", kind):gsub("@PLURAL@", singular .. "s"):gsub("@SINGULAR@", singular))
end

--- The files of the chart of a version.
function M.files(version, app_version)
  return {
    ["Chart.yaml"] = ('apiVersion: v2\nname: kuberay-operator\ndescription: A Helm chart for '
      .. 'deploying the Kuberay operator\nversion: %s\nappVersion: "%s"\ntype: application\n')
      :format(version, app_version),
    ["values.yaml"] = (VALUES:gsub("@VERSION@", app_version)),
    ["templates/_helpers.tpl"] = helpers(M.name),
    ["templates/deployment.yaml"] = DEPLOYMENT, ["templates/service.yaml"] = SERVICE,
    ["templates/serviceaccount.yaml"] = ACCOUNT, ["templates/role.yaml"] = ROLE,
    ["templates/leader_election_role.yaml"] = ELECTION,
    ["crds/ray.io_rayclusters.yaml"] = definition "RayCluster",
    ["crds/ray.io_rayjobs.yaml"] = definition "RayJob",
    ["crds/ray.io_rayservices.yaml"] = definition "RayService",
  }
end

return M
