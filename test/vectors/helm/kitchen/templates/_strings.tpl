{{- define "k.strings" -}}
case: {{ upper "aBc" }} {{ lower "AbC" }} {{ title "hello big world" }} {{ untitle "Hello World" }} {{ title "it's a_b x2y e-z 3d" }} {{ untitle "It'S A_B X2Y-Z" }}
trim: [{{ trim "  x  " }}] [{{ trimAll "$-" "$5.00-" }}] [{{ trimSuffix "-" "a--" }}] [{{ trimPrefix "v" "v1.2" }}] [{{ nospace " a b " }}]
sub: {{ substr 1 3 "abcdef" }} {{ substr -1 2 "abcdef" }} {{ substr 2 -1 "abcdef" }} {{ trunc 3 "abcdef" }} {{ trunc -3 "abcdef" }} {{ trunc 9 "abc" }}
rep: {{ repeat 3 "ab" }} {{ replace "a" "o" "banana" }} {{ plural "one" "many" 1 }} {{ plural "one" "many" 2 }}
find: {{ contains "b" "abc" }} {{ hasPrefix "ab" "abc" }} {{ hasSuffix "bc" "abc" }} {{ hasPrefix "x" "abc" }}
quote: {{ quote "a" 1 nil "b\"c" }} {{ squote "a" 2 nil }} {{ quote .Values.list }} {{ quote "é\u200b\ttab" }} {{ cat "a" nil 1 "b" }}
join: {{ join "," .Values.list }} {{ join "-" (list 1 "x" nil true 1.5) }} {{ join "," "single" }} {{ sortAlpha (list "b" "a" "C") | join "," }} {{ toStrings (list 1 2.5 true) }}
split: {{ (split "/" "a/b/c")._1 }} {{ splitList "," "a,b,,c" }} {{ splitList "," "" | len }} {{ (splitn "." 2 "a.b.c")._1 }} {{ first (splitList ":" "x:y") }}
indent: {{ "a\nb" | nindent 4 }}
indent2: |-
{{ indent 2 "l1\nl2\n\nl3" }}
b64: {{ b64enc "hello" }} {{ b64dec "aGVsbG8=" }} {{ sha256sum "x" }}
regex: {{ regexMatch "^[a-z]+[0-9]*$" "abc12" }} {{ regexFind "[0-9]+" "ab12cd34" }} {{ regexFindAll "[a-z]+" "ab12cd34" -1 }} {{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }} {{ regexReplaceAllLiteral "a(x*)b" "-ab-axxb-" "${1}" }} {{ regexSplit "z+" "pizza" -1 }} {{ regexMatch "(?i)^HELLO\\b" "hello world" }} {{ regexQuoteMeta "1.2*" }} {{ regexMatch "^(a|b)+?c{2,3}[^\\d\\s]$" "abccx" }} {{ regexReplaceAll "(\\w+)@(\\w+)" "me@here" "$2 $1" }}
default: {{ default "d" "" }} {{ default "d" .Values.missing }} {{ default "d" "v" }} {{ default 5 0 }} {{ default true false }} {{ .Values.image.tag | default .Chart.AppVersion }} {{ coalesce nil "" 0 "c" "d" }} {{ empty "" }} {{ empty 0 }} {{ empty .Values.list }} {{ ternary "yes" "no" true }} {{ ternary "yes" "no" .Values.flag }} {{ all 1 "a" true }} {{ any 0 "" }}
paths: {{ base "/a/b.txt" }} {{ dir "/a/b.txt" }} {{ ext "/a/b.tar.gz" }} {{ clean "/a/../b//c" }} {{ isAbs "/a" }} {{ dir "x" }} {{ base "" }} {{ clean "" }}
html: {{ html "<a href='x'>&\"" | squote }} {{ urlquery "a b&c=é" }}
lists: {{ list 1 2 3 }} {{ first .Values.list }} {{ last .Values.list }} {{ rest .Values.list }} {{ initial .Values.list }} {{ append .Values.list "d" }} {{ prepend .Values.list "z" }} {{ reverse .Values.list }} {{ uniq (list 1 1 2) }} {{ without .Values.list "b" }} {{ has "a" .Values.list }} {{ has "z" .Values.list }} {{ concat .Values.list (list "x") }} {{ compact (list 0 1 "" "a" nil) }} {{ slice .Values.list 1 }} {{ slice .Values.list 0 2 }} {{ chunk 2 .Values.list }} {{ first (list) }} {{ index .Values.list 1 }} {{ index .Values.nested "a" "b" "c" }} {{ len .Values.list }} {{ len "abc" }} {{ index .Values.numbers 1 }}
dicts: {{ $d := dict "b" 1 "a" 2 }}{{ $d }} {{ get $d "a" }}[{{ get $d "zz" }}] {{ hasKey $d "a" }} {{ hasKey $d "zz" }} {{ keys $d | sortAlpha }} {{ values (dict "k" "v") }} {{ set $d "c" 3 }} {{ unset $d "b" }} {{ pick (dict "a" 1 "b" 2) "a" "q" }} {{ omit (dict "a" 1 "b" 2) "a" }} {{ pluck "a" (dict "a" 1) (dict "b" 2) (dict "a" 3) }} {{ merge (dict "a" 1 "m" (dict "x" 1)) (dict "a" 2 "b" 3 "m" (dict "x" 9 "y" 2)) }} {{ mergeOverwrite (dict "a" 1 "m" (dict "x" 1)) (dict "a" 2 "b" 3 "m" (dict "x" 9 "y" 2)) }} {{ dig "a" "b" "dflt" (dict "a" (dict "b" 7)) }} {{ dig "a" "q" "dflt" (dict "a" (dict "b" 7)) }} {{ deepCopy $d }} {{ dict "odd" }} {{ deepEqual (list 1 2) (list 1 2) }}
files: {{ .Files.Get "files/app.conf" | quote }} {{ .Files.Get "nope" | quote }} {{ (.Files.Glob "files/*.conf").AsConfig | quote }} {{ (.Files.Glob "files/**").AsSecrets | quote }} {{ .Files.Lines "files/app.conf" }} {{ range $p, $_ := .Files.Glob "**.json" }}{{ $p }}{{ end }} {{ .Files.Get "notes.md" | quote }}
required: {{ required "needs a name" .Values.name }}
chained: {{ "x" | printf "%s-%s" "y" | upper | quote }}
{{- end -}}
