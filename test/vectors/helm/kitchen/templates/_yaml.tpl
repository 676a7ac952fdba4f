{{- define "k.yaml" -}}
strings:
{{ toYaml .Values.strings | indent 2 }}
keys:
  {{- toYaml .Values.keys | nindent 2 }}
nested: {{- .Values.nested | toYaml | nindent 2 }}
numbers: {{- toYaml .Values.numbers | nindent 2 }}
mixed: {{- toYaml .Values.mixed | nindent 2 }}
emptyList: {{ toYaml .Values.emptyList }}
emptyMap: {{ toYaml .Values.emptyMap }}
scalar: {{ toYaml .Values.name }} {{ toYaml .Values.million }} {{ toYaml .Values.tiny }} {{ toYaml true }} {{ toYaml nil }} {{ toYaml .Values.ratio }} {{ toYaml 1 }}
deep: {{- list (list 1 (list 2 3)) (dict "a" (list (dict "b" 1 "c" (list)) (dict))) (list) (dict) | toYaml | nindent 2 }}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
tolerations:
{{- toYaml .Values.tolerations | nindent 2 }}
json: {{ toJson .Values.mixed | quote }} {{ toJson "<a&b>\u2028é" | squote }} {{ toRawJson "<a&b>" | squote }} {{ toJson .Values.numbers }} {{ toJson .Values.tiny }} {{ toJson 1e21 }} {{ toJson 123456789012.0 }}
pretty: {{ toPrettyJson .Values.nested | nindent 2 }}
pretty2: {{ toPrettyJson (dict "a" (list) "b" (dict) "c" (list 1)) | nindent 2 }}
from: {{ (fromYaml "a: 1\nb: [x, 2000000]").b }} {{ (fromJson "{\"a\": 1000000}").a }} {{ fromYamlArray "[1, x]" }} {{ fromJsonArray "[1, null]" }} {{ get (fromYaml "a: 5") "a" | typeOf }}
rootstring: |
  {{- toYaml "multi\nline" | nindent 2 }}
  {{- toYaml "multi\nline\n" | nindent 2 }}
{{- end -}}
