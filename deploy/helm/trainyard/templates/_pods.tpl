{{/* The variables of a service beside those of the shared ConfigMap. Call: (dict "root" "name" "service" "uses"). */}}
{{- define "trainyard.env" -}}
{{- $values := .root.Values -}}
- {name: {{ has "tokens" .uses | ternary "TRAINYARD_LISTEN" "TRAINYARD_HEALTH_LISTEN" }}, value: {{ $values.listen | quote }}}
{{- if $values.natsUser }}
- {name: NATS_USER, value: {{ $values.natsUser | quote }}}
- name: NATS_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $values.secret }}, key: nats-password}}
{{- end }}
{{- range .uses }}
{{- if eq . "tokens" }}
- {name: TRAINYARD_TOKENS, value: /etc/trainyard/secret/tokens.json}
{{- else if eq . "logs" }}
- {name: TRAINYARD_LOGS, value: /var/log/trainyard}
{{- else if eq . "limits" }}
- {name: TRAINYARD_TEMPLATE_LIMITS, value: /etc/trainyard/files/template-limits.yaml}
{{- else if eq . "workdir" }}
- {name: TRAINYARD_CHECK_WORKDIR, value: "off"}
{{- else if eq . "pins" }}
- {name: TRAINYARD_IMAGE_PINS, value: /etc/trainyard/files/image-pins.yaml}
{{- else if eq . "outputs" }}
- {name: TRAINYARD_CLAIMS, value: "{{ include "trainyard.jobsNamespace" $.root }}/{{ include "trainyard.claim" (list $.root "outputs") }}=/outputs"}
{{- else if eq . "triton" }}
- {name: TRAINYARD_TRITON_URL, value: {{ $values.converter.tritonUrl | quote }}}
{{- else if eq . "gateway" }}
- {name: TRAINYARD_API_URL, value: "http://{{ include "trainyard.fullname" $.root }}-job-api:8470"}
- {name: TRAINYARD_NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
{{- else if eq . "cluster" }}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: TRAINYARD_BACKEND, value: kubernetes}
- {name: TRAINYARD_NAMESPACE, value: {{ include "trainyard.jobsNamespace" $.root }}}
{{- with $values.launcher.namespaces }}
- {name: TRAINYARD_NAMESPACES, value: {{ join "," . | quote }}}
{{- end }}
{{- if $values.persistence.outputs.enabled }}
- {name: TRAINYARD_OUTPUT_CLAIM, value: {{ include "trainyard.claim" (list $.root "outputs") }}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "trainyard.mounts" -}}
- {name: state, mountPath: /var/lib/trainyard}
- {name: tmp, mountPath: /tmp}
{{- range .uses }}
{{- if eq . "tokens" }}
- {name: secret, mountPath: /etc/trainyard/secret, readOnly: true}
{{- else if eq . "logs" }}
- {name: logs, mountPath: /var/log/trainyard, readOnly: {{ ne $.name "launcher" }}}
{{- else if has . (list "limits" "pins") }}
- {name: files, mountPath: /etc/trainyard/files, readOnly: true}
{{- else if eq . "outputs" }}
- {name: outputs, mountPath: /outputs, readOnly: true}
{{- end }}
{{- end }}
{{- end -}}

{{- define "trainyard.volumes" -}}
{{- if has "models" .uses }}
- {name: state, persistentVolumeClaim: {claimName: {{ include "trainyard.claim" (list .root "models") }}}}
{{- else }}
- {name: state, emptyDir: {}}
{{- end }}
- {name: tmp, emptyDir: {}}
{{- range .uses }}
{{- if eq . "tokens" }}
- {name: secret, secret: {secretName: {{ $.root.Values.secret }}, items: [{key: tokens.json, path: tokens.json}]}}
{{- else if eq . "logs" }}
- {name: logs, persistentVolumeClaim: {claimName: {{ include "trainyard.claim" (list $.root "logs") }}}}
{{- else if has . (list "limits" "pins") }}
- {name: files, configMap: {name: {{ include "trainyard.fullname" $.root }}-files}}
{{- else if eq . "outputs" }}
- {name: outputs, persistentVolumeClaim: {claimName: {{ include "trainyard.converterOutputs" $.root }}, readOnly: true}}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where a pod may stand. A claim that one node can mount binds all that use it to that node. */}}
{{- define "trainyard.placement" -}}
{{- $affinity := deepCopy .settings.affinity -}}
{{- if and (has "logs" .uses) (eq .root.Values.persistence.logs.accessMode "ReadWriteOnce") -}}
{{- $together := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (dict "trainyard.dev/logs" .root.Release.Name)) -}}
{{- $affinity = mustMergeOverwrite (dict "podAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $together))) $affinity -}}
{{- end -}}
{{- with $affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- with .settings.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .settings.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .settings.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
{{- with .settings.topologySpreadConstraints }}
  {{- toYaml . | nindent 2 }}
{{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "trainyard.selector" (list .root .name) | nindent 8 }}
{{- end }}
{{- end -}}
