{{- define "k.plugins" -}}
{{- $options := dict "" "" -}}
{{- $_ := set $options "hasConfigMap" ( eq ( (include "k.flag" . ) | trim ) "true" ) -}}
{{- $_ := set $options "number" .Values.million -}}
{{- $parsed := (mustToJson $options) | fromJson -}}
options: {{ mustToJson $options }} {{ $parsed.hasConfigMap }} {{ $parsed.number }} {{ $parsed.none }}
checksum: {{ include (print $.Template.BasePath "/_plugins.tpl") . | sha256sum }}
{{- range $name, $contents := dict "one" "flags: {migStrategy: none, list: [a]}" }}
{{- $config := $contents | fromYaml }}
{{- if $config.flags }}
{{ $name }}: {{ ne $config.flags.migStrategy "none" }} {{ typeIs "string" $config.flags.list }} {{ has "a" $config.flags.list }}
{{- end }}
{{- end }}
{{- if (semverCompare ">= 1.33-0" .Capabilities.KubeVersion.Version) }}
{{- if kindIs "bool" .Values.flag }}
hostUsers: {{ .Values.flag }}
{{- end }}
{{- end }}
args:
{{- $args := list -}}
{{- $args = append $args (printf "--leader=%t" .Values.enabled) -}}
{{- $args = append $args (printf "--qps=%v" .Values.big) -}}
{{- if and (hasKey .Values "nested") (hasKey .Values.nested "a") }}
{{- $args = append $args "--nested" -}}
{{- end -}}
{{- $gates := "" -}}
{{- range $index, $gate := list (dict "name" "A" "enabled" true) (dict "name" "B" "enabled" false) -}}
{{- $gates = printf "%s%s=%t," $gates $gate.name $gate.enabled -}}
{{- end -}}
{{- $args = append $args (printf "--feature-gates=%s" ($gates | trimSuffix ",")) -}}
{{- (printf "\n") -}}
{{- $args | toYaml | indent 2 }}
image: {{ .Values.image.repository -}}:{{- .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}
{{- end }}

# text between definitions is dropped
{{- define "k.flag" -}}
{{- $result := false -}}
{{- if .Values.enabled -}}
  {{- $result = true -}}
{{- end -}}
{{- $result -}}
{{- end -}}
