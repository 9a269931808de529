{{- define "baton.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "baton.selector" -}}
app.kubernetes.io/name: baton
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "baton.labels" -}}
{{ include "baton.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "baton.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* What would start nothing, or something unsafe, is refused with the reason. */ -}}
{{- define "baton.check" -}}
{{- if not (or .Values.tls.secret .Values.insecure) }}
{{- fail "nodes serve other hosts: give tls.secret, or insecure=true if the network is trusted" }}
{{- end }}
{{- if and .Values.etcd.user (not .Values.etcd.passwordSecret) }}
{{- fail "etcd.user needs etcd.passwordSecret" }}
{{- end }}
{{- if and .Values.tls.certificate.create (not (and .Values.tls.secret .Values.tls.certificate.issuerRef.name)) }}
{{- fail "tls.certificate.create needs tls.secret and tls.certificate.issuerRef.name" }}
{{- end }}
{{- if and .Values.nodes.state.persistent (ne .Values.nodes.kind "StatefulSet") }}
{{- fail "nodes.state.persistent needs nodes.kind=StatefulSet: pods of a Deployment keep no volume" }}
{{- end }}
{{- if and (hasKey .Values.nodes.flags "hang-timeout") (ne .Values.nodes.guard "own") }}
{{- fail "nodes.flags: hang-timeout needs nodes.guard=own: only a guard that batond starts can watch for a hang" }}
{{- end }}
{{- $grows := "the pod has no place for a file that grows; the log has these lines, too" }}
{{- $application := "the pod has no container for an application, and too short a grace period for one" }}
{{- range $name, $why := dict "events-file" $grows "audit-file" $grows "audit-required" $grows "sidecar" $application "watchdog" $application }}
{{- if or (hasKey $.Values.nodes.flags $name) (hasKey $.Values.relays.flags $name) }}
{{- fail (printf "flags: the chart has no %s: %s" $name $why) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* etcd's flags: batond's and the guard's. */ -}}
{{- define "baton.etcdArguments" -}}
- --etcd={{ join "," .Values.etcd.endpoints }}
- --etcd-prefix={{ .Values.etcd.prefix }}
{{- if .Values.etcd.tlsSecret }}
- --etcd-ca=/etc/baton/etcd-tls/ca.crt
{{- if .Values.etcd.clientCertificate }}
- --etcd-cert=/etc/baton/etcd-tls/tls.crt
- --etcd-key=/etc/baton/etcd-tls/tls.key
{{- end }}
{{- end }}
{{- if .Values.etcd.user }}
- --etcd-user={{ .Values.etcd.user }}
- --etcd-password-file=/etc/baton/etcd-password/{{ .Values.etcd.passwordKey }}
{{- end }}
{{- end }}

{{- /* What nodes and relays have in common. */ -}}
{{- define "baton.arguments" -}}
- --group={{ .Values.group }}
- --node=$(POD_NAME)
- --listen={{ .Values.listenHost }}:7400
- --http={{ .Values.listenHost }}:7401
- --http-hosts={{ include "baton.httpHosts" . }}
- --admin-socket=/run/baton/admin.sock
{{ include "baton.etcdArguments" . }}
{{- if .Values.tls.secret }}
- --tls-cert=/etc/baton/tls/tls.crt
- --tls-key=/etc/baton/tls/tls.key
{{- if ne .Values.tls.clientAuth "none" }}
- --tls-client-ca=/etc/baton/tls/ca.crt
- --tls-client-auth={{ .Values.tls.clientAuth }}
{{- end }}
{{- if .Values.tls.maxAge }}
- --tls-max-age={{ .Values.tls.maxAge }}
{{- end }}
{{- else }}
- --insecure
{{- end }}
{{- if .Values.access }}
- --access=/etc/baton/access/access.yaml
{{- end }}
{{- end }}

{{- /* The names by which pods and services are asked over HTTP. */ -}}
{{- define "baton.httpHosts" -}}
{{- $hosts := list }}
{{- range list (include "baton.name" .) (printf ".%s" (include "baton.name" .)) (printf "%s-routes" (include "baton.name" .)) }}
{{- $name := printf "%s.%s" . $.Release.Namespace }}
{{- $hosts = concat $hosts (list . $name (printf "%s.svc" $name) (printf "%s.svc.cluster.local" $name)) }}
{{- end }}
{{- join "," (concat $hosts .Values.httpHosts) }}
{{- end }}

{{- /* Flags that the user gives: a map. Helm reads numbers as floating point, and writes a million as 1e+06. */ -}}
{{- define "baton.flags" -}}
{{- range $name, $value := . }}
{{- if eq (toString $value) "true" }}
- --{{ $name }}
{{- else if kindIs "float64" $value }}
- --{{ $name }}={{ int64 $value }}
{{- else }}
- {{ printf "--%s=%s" $name (toString $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "baton.environment" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
# For kubectl exec POD -- batonctl ...: the way in that needs no certificate.
- name: BATON_ENDPOINT
  value: unix:/run/baton/admin.sock
{{- if and .Values.tls.secret (ne .Values.tls.clientAuth "none") }}
# For the other nodes, which batonctl asks, too. batond has these settings from its flags.
- {name: BATON_TLS_CA, value: /etc/baton/tls/ca.crt}
- {name: BATON_TLS_CERT, value: /etc/baton/tls/tls.crt}
- {name: BATON_TLS_KEY, value: /etc/baton/tls/tls.key}
{{- with .Values.tls.certificate.uri }}
- {name: BATON_TLS_SERVERS, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "baton.mounts" -}}
- {name: run, mountPath: /run/baton}
{{ include "baton.etcdMounts" . }}
{{- if .Values.tls.secret }}
- {name: tls, mountPath: /etc/baton/tls, readOnly: true}
{{- end }}
{{- if .Values.access }}
- {name: access, mountPath: /etc/baton/access, readOnly: true}
{{- end }}
{{- end }}

{{- define "baton.etcdMounts" -}}
{{- if .Values.etcd.tlsSecret }}
- {name: etcd-tls, mountPath: /etc/baton/etcd-tls, readOnly: true}
{{- end }}
{{- if .Values.etcd.user }}
- {name: etcd-password, mountPath: /etc/baton/etcd-password, readOnly: true}
{{- end }}
{{- end }}

{{- /* Secrets are folders, never subPath: only then the kubelet replaces their files, which batond reads again. */ -}}
{{- define "baton.volumes" -}}
- name: run
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- if .Values.etcd.tlsSecret }}
- name: etcd-tls
  secret: {secretName: {{ .Values.etcd.tlsSecret }}, defaultMode: 0440}
{{- end }}
{{- if .Values.etcd.user }}
- name: etcd-password
  secret: {secretName: {{ .Values.etcd.passwordSecret }}, defaultMode: 0440}
{{- end }}
{{- if .Values.tls.secret }}
- name: tls
  secret: {secretName: {{ .Values.tls.secret }}, defaultMode: 0440}
{{- end }}
{{- if .Values.access }}
- name: access
  configMap: {name: {{ include "baton.name" . }}-access, defaultMode: 0440}
{{- end }}
{{- end }}

{{- define "baton.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "baton.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  privileged: false
  capabilities: {drop: [ALL]}
{{- end }}

{{- /* The kubelet asks over HTTPS without looking at the certificate. Readiness ends nothing: it fails while etcd is away. */ -}}
{{- define "baton.probes" -}}
ports:
  - {name: grpc, containerPort: 7400, protocol: TCP}
  - {name: http, containerPort: 7401, protocol: TCP}
{{- $scheme := ternary "HTTPS" "HTTP" (ne .Values.tls.secret "") }}
startupProbe:
  httpGet: {path: /livez, port: http, scheme: {{ $scheme }}}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: http, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 6
  # A loop that stands still does not heed SIGTERM, so there is little to wait for before SIGKILL.
  terminationGracePeriodSeconds: 15
readinessProbe:
  httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{- define "baton.spread" -}}
topologySpreadConstraints:
{{- range list .root.Values.zoneLabel "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $.root.Values.spread }}
    labelSelector:
      matchLabels:
        {{- include "baton.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
{{- end }}
{{- end }}
