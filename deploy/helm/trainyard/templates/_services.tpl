{{/*
The five services, as data. `port` is fixed in trainyard.common.runtime.settings; `uses` says which of the blocks of
_pods.tpl a service has; `tokens` stands for an HTTP interface that asks for them.
*/}}
{{- define "trainyard.services" -}}
job-api: {values: jobApi, module: trainyard.job_api, port: 8470, uses: [tokens, logs, limits, workdir]}
matrix: {values: matrix, module: trainyard.matrix, port: 8471, uses: [pins]}
launcher: {values: launcher, module: trainyard.launcher, port: 8472, uses: [logs, cluster]}
converter: {values: converter, module: trainyard.converter, port: 8473, uses: [models, outputs, triton]}
monitor: {values: monitor, module: trainyard.monitor, port: 8474, uses: [tokens, gateway]}
{{- end -}}

{{/* What holds for a service: `common`, and over it what is said of the service. Call: (list $ "jobApi"). */}}
{{- define "trainyard.settings" -}}
{{- $root := index . 0 -}}
{{- mustMergeOverwrite (deepCopy $root.Values.common) (deepCopy (index $root.Values (index . 1))) | toJson -}}
{{- end -}}

{{/* The blocks of `uses` that there is something for. Call: (list $ $service); gives {uses: [...]}. */}}
{{- define "trainyard.uses" -}}
{{- $root := index . 0 -}}
{{- $there := dict
  "limits" (gt (len $root.Values.templateLimits) 0)
  "pins" (gt (len $root.Values.images) 0)
  "models" $root.Values.persistence.models.enabled
  "outputs" (ne (include "trainyard.converterOutputs" $root) "")
  "triton" (ne $root.Values.converter.tritonUrl "")
-}}
{{- $uses := list -}}
{{- range (index . 1).uses -}}
{{- if get $there . | toString | ne "false" -}}
{{- $uses = append $uses . -}}
{{- end -}}
{{- end -}}
{{- dict "uses" $uses | toJson -}}
{{- end -}}
