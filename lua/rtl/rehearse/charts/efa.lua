--- The chart aws-efa-k8s-device-plugin, under the names and with the values of the real one
-- (aws/eks-charts, stable/aws-efa-k8s-device-plugin). Its list of instance types is shorter here.

local helpers = require "rtl.rehearse.charts.helpers"
local types = require "rtl.rehearse.aws.types"

local M = { name = "aws-efa-k8s-device-plugin" }

--- Chart version → application version.
M.versions = { ["v0.5.32"] = "v0.5.22", ["v0.5.30"] = "v0.5.20" }

local VALUES = [==[
nameOverride: ""
fullnameOverride: ""
image:
  repository: 602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin
  tag: @APP@
  pullPolicy: IfNotPresent
imagePullSecrets: []
resources:
  requests:
    cpu: 10m
    memory: 20Mi
nodeSelector: {}
tolerations: []
securityContext:
  privileged: true
  runAsUser: 0
supportedInstanceLabels:
  keys:
  - node.kubernetes.io/instance-type
  values:
@TYPES@
]==]

local DAEMONSET = [==[
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "aws-efa-k8s-device-plugin.fullname" . }}
  labels:
    {{- include "aws-efa-k8s-device-plugin.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      name: {{ include "aws-efa-k8s-device-plugin.fullname" . }}
  updateStrategy:
    type: RollingUpdate
  template:
    metadata:
      labels:
        name: {{ include "aws-efa-k8s-device-plugin.fullname" . }}
    spec:
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      automountServiceAccountToken: false
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations:
      - key: CriticalAddonsOnly
        operator: Exists
      {{- with .Values.tolerations }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            {{- range .Values.supportedInstanceLabels.keys }}
            - matchExpressions:
              - key: {{ . | quote }}
                operator: In
                values:
                {{- toYaml $.Values.supportedInstanceLabels.values | nindent 16 }}
              - key: eks.amazonaws.com/compute-type
                operator: NotIn
                values: [auto]
            {{- end }}
      containers:
      - name: aws-efa-k8s-device-plugin
        image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        securityContext:
          {{- toYaml .Values.securityContext | nindent 10 }}
        resources:
          {{- toYaml .Values.resources | nindent 10 }}
        volumeMounts:
        - name: device-plugin
          mountPath: /var/lib/kubelet/device-plugins
        - name: infiniband-volume
          mountPath: /dev/infiniband/
      volumes:
      - name: device-plugin
        hostPath:
          path: /var/lib/kubelet/device-plugins
      - name: infiniband-volume
        hostPath:
          path: /dev/infiniband/
]==]

local function supported()
  local lines = {}
  for _, name in ipairs(types.names) do
    if types.of(name).efa > 0 then lines[#lines + 1] = "  - " .. name end
  end
  return table.concat(lines, "\n")
end

--- The files of the chart of a version.
function M.files(version, app_version)
  return {
    ["Chart.yaml"] = ('apiVersion: v1\nname: aws-efa-k8s-device-plugin\ndescription: A Helm chart '
      .. 'for EFA device plugin.\nversion: %s\nappVersion: "%s"\n'):format(version, app_version),
    ["values.yaml"] = (VALUES:gsub("@APP@", app_version):gsub("@TYPES@", supported())),
    ["templates/_helpers.tpl"] = helpers(M.name), ["templates/daemonset.yaml"] = DAEMONSET,
  }
end

return M
