{{ define "overridden" }}from the child{{ end }}
