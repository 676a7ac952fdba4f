{{- define "k.text" -}}
# whitespace, variables, blocks
a: {{- "\nx: 1" | indent 2 }}
loop: {{ include "kitchen.loop" (dict "list" .Values.list) | nindent 2 }}
{{- /* a comment */ -}}
{{ $x := 1 -}}
{{- range $i, $v := .Values.list }}
{{- if eq $i 0 }}{{ continue }}{{ end }}
item{{ $i }}: {{ $v | upper | quote }}
{{- if eq $v "b" }}{{ break }}{{ end }}
{{- $x = add $x 10 }}
{{- end }}
x: {{ $x }}
{{- range $k, $v := .Values.nested.a }}
{{ $k }}: {{ $v }}
{{- else }}
none: true
{{- end }}
{{- range .Values.emptyList }}
{{ . }}
{{- else }}
emptyLoop: yes
{{- end }}
{{- range $n := until 3 }}
n{{ $n }}: {{ $n }}
{{- end }}
{{- range 2 }}
r{{ . }}: {{ . }}
{{- end }}
{{ with .Values.nested.a }}with: {{ .b.c }}{{ $.Release.Name | printf " %s" }}{{ end }}
{{ with .Values.missing }}with2: {{ . }}{{ else }}with2: other{{ end }}
{{ with .Values.missing }}with3: {{ . }}{{ else with .Values.name }}with3: {{ . }}{{ end }}
{{ if and .Values.enabled (not .Values.flag) (gt .Values.replicas 2.0) }}cond: true{{ else if .Values.flag }}cond: flag{{ else }}cond: false{{ end }}
{{ if or .Values.flag .Values.missing "" }}or: a{{ else if eq .Values.name "x" "kitchen" }}or: b{{ end }}
or2: {{ or .Values.empty "fallback" }} {{ and 1 0 }} {{ or 0 "" "z" }}
missing: {{ .Values.missing }}|{{ .Values.nothing }}|{{ .Values.empty }}|
missing2: {{ (.Values.nested).list | len }} {{ ((.Values.nope).deeper) | default "dflt" }}
template: {{ template "kitchen.fullname" . }}
block: {{ block "blocky" .Values }}{{ .name }}{{ end }}
over: {{ include "overridden" . }}
tpl: {{ tpl .Values.template . }}
tpl2: {{ tpl "{{ define \"inner\" }}in{{ .Values.name }}{{ end }}{{ include \"inner\" . }}" . }}
raw: {{ `{{ raw }}` }} {{ "esc\t\"q\" \u00e9 \x41" }} {{ 'a' }}
release: {{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Revision }} {{ .Release.IsInstall }} {{ .Release.IsUpgrade }} {{ .Release.Service }}
chart: {{ .Chart.Name }} {{ .Chart.Version }} {{ .Chart.AppVersion }} {{ .Chart.Type }} {{ .Chart.Keywords }} {{ .Chart.IsRoot }}
tmpl: {{ .Template.Name }} {{ .Template.BasePath }} {{ $.Template.BasePath }}
caps: {{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.KubeVersion.Major }}.{{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has "apps/v1" }} {{ .Capabilities.APIVersions.Has "policy/v9" }}
semver: {{ semverCompare ">=1.19-0" .Capabilities.KubeVersion.GitVersion }} {{ semverCompare "^1.2.0" "1.9.1" }} {{ semverCompare "~1.2" "1.3.0" }} {{ semverCompare ">=1.0 <2.0 || 3.x" "3.4.5" }} {{ semverCompare "1.2 - 1.4" "1.4.9" }} {{ semverCompare "!=1.2.3" "1.2.3" }} {{ semverCompare ">1.2" "1.2.5" }} {{ semverCompare "<=1.2" "1.2.5" }} {{ (semver "1.2.3-rc.1+b").Prerelease }}
lookup: {{ lookup "v1" "Secret" "ns" "name" }} {{ len (lookup "v1" "Secret" "ns" "") }}
sub: {{ .Values.side.color }} {{ .Values.other.color }} {{ .Values.imported }} {{ len .Subcharts }}
{{- end -}}
