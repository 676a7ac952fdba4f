--- The chart nvidia-device-plugin, under the names and with the values of the real one that rtl
-- uses (NVIDIA/k8s-device-plugin, deployments/helm).

local helpers = require "rtl.rehearse.charts.helpers"

local M = { name = "nvidia-device-plugin" }

--- Chart version → application version.
M.versions = { ["0.20.0"] = "0.20.0", ["0.19.3"] = "0.19.3", ["0.17.4"] = "0.17.4" }

local VALUES = [==[
nameOverride: ""
fullnameOverride: ""
allowDefaultNamespace: false
migStrategy: null
failOnInitError: null
deviceListStrategy: null
image:
  repository: nvcr.io/nvidia/k8s-device-plugin
  pullPolicy: IfNotPresent
  tag: ""
updateStrategy:
  type: RollingUpdate
podAnnotations: {}
nodeSelector: {}
resources: {}
priorityClassName: system-node-critical
securityContext: {}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: feature.node.kubernetes.io/pci-10de.present
          operator: In
          values: ["true"]
      - matchExpressions:
        - key: feature.node.kubernetes.io/cpu-model.vendor_id
          operator: In
          values: [NVIDIA]
      - matchExpressions:
        - key: nvidia.com/gpu.present
          operator: In
          values: ["true"]
tolerations:
- key: CriticalAddonsOnly
  operator: Exists
- key: nvidia.com/gpu
  operator: Exists
  effect: NoSchedule
gfd:
  enabled: false
]==]

local DAEMONSET = [==[
{{- if and (eq .Release.Namespace "default") (not .Values.allowDefaultNamespace) }}
{{- fail "Running in the default namespace is not recommended. Set allowDefaultNamespace" }}
{{- end }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "nvidia-device-plugin.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "nvidia-device-plugin.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "nvidia-device-plugin.selectorLabels" . | nindent 6 }}
  updateStrategy:
    {{- toYaml .Values.updateStrategy | nindent 4 }}
  template:
    metadata:
      labels:
        {{- include "nvidia-device-plugin.selectorLabels" . | nindent 8 }}
      {{- with .Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- if .Values.priorityClassName }}
      priorityClassName: {{ .Values.priorityClassName }}
      {{- end }}
      serviceAccountName: {{ include "nvidia-device-plugin.fullname" . }}-service-account
      containers:
      - name: nvidia-device-plugin-ctr
        {{- $tag := default (printf "v%s" .Chart.AppVersion) .Values.image.tag }}
        image: {{ .Values.image.repository }}:{{ $tag }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        command: ["nvidia-device-plugin"]
        env:
        {{- if typeIs "string" .Values.migStrategy }}
        - name: MIG_STRATEGY
          value: {{ .Values.migStrategy | quote }}
        {{- end }}
        {{- if typeIs "bool" .Values.failOnInitError }}
        - name: FAIL_ON_INIT_ERROR
          value: {{ .Values.failOnInitError | quote }}
        {{- end }}
        - name: NVIDIA_VISIBLE_DEVICES
          value: all
        - name: NVIDIA_DRIVER_CAPABILITIES
          value: compute,utility
        securityContext:
          {{- if ne (len .Values.securityContext) 0 }}
          {{- toYaml .Values.securityContext | nindent 10 }}
          {{- else }}
          allowPrivilegeEscalation: false
          capabilities:
            drop: ["ALL"]
          {{- end }}
        volumeMounts:
        - name: device-plugin
          mountPath: /var/lib/kubelet/device-plugins
        {{- with .Values.resources }}
        resources:
          {{- toYaml . | nindent 10 }}
        {{- end }}
      volumes:
      - name: device-plugin
        hostPath:
          path: /var/lib/kubelet/device-plugins
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

local ACCOUNT = [==[
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "nvidia-device-plugin.fullname" . }}-service-account
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "nvidia-device-plugin.labels" . | nindent 4 }}
]==]

--- The files of the chart of a version.
function M.files(version, app_version)
  return {
    ["Chart.yaml"] = ('apiVersion: v2\nname: nvidia-device-plugin\ndescription: A Helm chart for '
      .. 'the nvidia-device-plugin on Kubernetes\nversion: "%s"\nappVersion: "%s"\ntype: '
      .. 'application\n'):format(version, app_version),
    ["values.yaml"] = VALUES, ["templates/_helpers.tpl"] = helpers(M.name),
    ["templates/daemonset-device-plugin.yml"] = DAEMONSET,
    ["templates/service-account.yml"] = ACCOUNT,
  }
end

return M
