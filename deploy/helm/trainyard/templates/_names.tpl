{{/* The beginning of every name: the release, with `trainyard` in it. */}}
{{- define "trainyard.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a service. Call: (list $ "job-api"). Never changed: selectors are for ever. */}}
{{- define "trainyard.selector" -}}
app.kubernetes.io/name: trainyard
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* On every object. Call: (list $ "job-api"), or (list $ "") for what belongs to no service. */}}
{{- define "trainyard.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: trainyard
{{ include "trainyard.selector" . }}
{{- end -}}

{{- define "trainyard.jobsNamespace" -}}
{{ .Values.jobs.namespace | default .Release.Namespace }}
{{- end -}}

{{- define "trainyard.natsUrl" -}}
{{- if .Values.nats.enabled -}}
nats://{{ .Values.nats.fullnameOverride }}:4222
{{- else -}}
{{ .Values.natsUrl }}
{{- end -}}
{{- end -}}

{{/* The claim that is used. Call: (list $ "logs"). */}}
{{- define "trainyard.claim" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{ (index $root.Values.persistence $kind).existingClaim | default (printf "%s-%s" (include "trainyard.fullname" $root) $kind) }}
{{- end -}}

{{/* The claim of jobs' outputs as the converter may mount it: of the release's own namespace, or "". */}}
{{- define "trainyard.converterOutputs" -}}
{{- if .Values.persistence.outputs.enabled -}}
{{- if .Values.persistence.outputs.converterClaim -}}
{{ .Values.persistence.outputs.converterClaim }}
{{- else if eq (include "trainyard.jobsNamespace" .) .Release.Namespace -}}
{{ include "trainyard.claim" (list . "outputs") }}
{{- end -}}
{{- end -}}
{{- end -}}
