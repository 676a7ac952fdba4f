{{- define "k.numbers" -}}
million: {{ .Values.million }} {{ .Values.million | int }} {{ .Values.million | quote }} {{ .Values.million | toString }} {{ int64 .Values.million }}
big: {{ .Values.big }} {{ printf "%d" (int .Values.big) }} {{ printf "%.0f" .Values.big }} {{ printf "%v" .Values.big }}
ratio: {{ .Values.ratio }} {{ .Values.tiny }} {{ .Values.negative }} {{ .Values.whole }} {{ .Values.replicas }}
literals: {{ 1 }} {{ 1.5 }} {{ 1e3 }} {{ 0x1F }} {{ 1000000 }} {{ 1000000.0 }} {{ -3 }} {{ 0o17 }} {{ 1_000 }} {{ 1.0 }}
math: {{ add 1 2 3 }} {{ sub 5 2 }} {{ mul 2 3.9 }} {{ div 7 2 }} {{ div -7 2 }} {{ mod -7 3 }} {{ mod 7 3 }} {{ add1 41 }} {{ max 1 5 3 }} {{ min 4 2 }} {{ biggest 3 9 }}
float: {{ addf 1.5 2 }} {{ mulf 2 3.5 }} {{ divf 1 4 }} {{ subf 3 0.5 }} {{ maxf 1 2.5 }} {{ minf 1 2.5 }} {{ floor 1.7 }} {{ ceil 1.2 }} {{ round 3.14159 2 }} {{ round 2.5 0 }} {{ float64 "1.25" }}
ints: {{ int "12" }} {{ int "0x10" }} {{ int "x" }} {{ int 3.9 }} {{ int -3.9 }} {{ int true }} {{ int64 "7.0" }} {{ atoi "42" }} {{ toDecimal "755" }} {{ toDecimal 644 }}
seq: {{ seq 5 }} | {{ seq 2 4 }} | {{ seq 0 2 6 }} | {{ seq 3 -1 }} | {{ until 3 }} | {{ untilStep 10 4 -2 }}
compare: {{ lt 1 2 }} {{ le 2 2 }} {{ gt "b" "a" }} {{ ge 1.5 1.5 }} {{ ne 1 2 }} {{ eq .Values.replicas 3.0 }} {{ eq "a" "b" "a" }} {{ eq nil .Values.nothing }}
printf: {{ printf "%d|%5d|%-5d|%05d|%x|%X|%o|%b|%c|%q|%+d|%U" 42 42 42 42 255 255 8 5 65 65 7 3 | replace "%!U(int=3)" "U+0003" | replace "U+0003" "" }}
printf2: {{ printf "%s|%10s|%-10s|%q|%x|%v|%.2s|%t|%5t" "str" "str" "str" "q\"uote\n" "hi" "v" "trunc" true false }}
printf3: {{ printf "%f|%.2f|%8.3f|%e|%g|%v|%d|%s" 1.5 2.345 3.14159 12345.678 0.1 1e21 3.0 1 }}
printf4: {{ printf "%v %v %v %v %d %s" .Values.list .Values.emptyMap .Values.mixed nil "str" .Values.list }}
printf5: {{ printf "%d" }} {{ printf "%d" 1 2 "x" }} {{ printf "100%%" }} {{ printf "%z" 1 }} {{ printf "%*d" 5 42 }} {{ printf "%6.2f%%" 12.345 }} {{ printf "%T %T %T %T" 1 1.5 "s" .Values.list }}
print: {{ print "a" 1 2 "b" 3 }}|{{ print 1 2 }}|{{ print "a" "b" }}|{{ println "x" 1 }}
maps: {{ .Values.nested }} {{ .Values.list }} {{ .Values.numbers }} {{ .Values.mixed }}
types: {{ typeOf 1 }} {{ typeOf 1.5 }} {{ typeOf "s" }} {{ typeOf true }} {{ typeOf .Values.list }} {{ typeOf .Values.nested }} {{ typeOf nil }} {{ kindOf .Values.list }} {{ kindOf .Values.nested }} {{ kindOf .Values.replicas }} {{ kindOf "s" }} {{ kindOf nil }} {{ kindIs "map" .Values.nested }} {{ typeIs "string" "x" }} {{ typeIs "float64" .Values.replicas }}
{{- end -}}
