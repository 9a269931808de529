package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func kubernetes() *chartutil.Capabilities {
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.35.0", Major: "1", Minor: "35"}
	return capabilities
}

func lint(chart, file, where string) {
	values, err := chartutil.ReadValuesFile(file)
	if err != nil {
		find(where, "%v", err)
		return
	}
	result := helmlint.AllWithKubeVersion(chart, values, namespace, &kubernetes().KubeVersion)
	for _, message := range result.Messages {
		// It recommends an icon.
		if message.Severity > support.InfoSev {
			find(where, "helm lint: %v", message)
		}
	}
}

// render is what `helm template` prints, without the notes, which it renders too.
func render(chart, file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return renderText(chart, string(text))
}

func renderText(chart, text string) (string, error) {
	loaded, err := loader.LoadDir(chart)
	if err != nil {
		return "", err
	}
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		return "", err
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	merged, err := chartutil.ToRenderValues(loaded, values, options, kubernetes())
	if err != nil {
		return "", err
	}
	strict := engine.Engine{Strict: true}
	rendered, err := strict.Render(loaded, merged)
	if err != nil {
		return "", err
	}
	names := make([]string, 0, len(rendered))
	for name := range rendered {
		names = append(names, name)
	}
	sort.Strings(names)
	var all strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "NOTES.txt") {
			if !strings.Contains(rendered[name], "batonctl health --wait") {
				return "", fmt.Errorf("the notes don't say how to look")
			}
			continue
		}
		fmt.Fprintf(&all, "---\n# Source: %s\n%s\n", name, rendered[name])
	}
	return all.String(), nil
}

// Kinds that the chart makes, as Kubernetes and the operators define them.
var kinds = map[string]func() any{
	"apps/v1 StatefulSet":                     func() any { return &apps.StatefulSet{} },
	"apps/v1 Deployment":                      func() any { return &apps.Deployment{} },
	"v1 Service":                              func() any { return &core.Service{} },
	"v1 ConfigMap":                            func() any { return &core.ConfigMap{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
	"cert-manager.io/v1 Certificate":          func() any { return &certmanager.Certificate{} },
}

// decode reads each object as its kind; a field that the kind does not have, or that is there twice, is a finding.
func decode(where, text string) []any {
	var all []any
	for _, document := range strings.Split("\n"+text, "\n---") {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			find(where, "%v in %s", err, document)
			continue
		}
		if head.Kind == "" {
			continue // comments alone
		}
		create, known := kinds[head.APIVersion+" "+head.Kind]
		if !known {
			find(where, "%s %s is no kind that this test knows", head.APIVersion, head.Kind)
			continue
		}
		object := create()
		bytesOf, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			find(where, "%s: %v", head.Kind, err)
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(bytesOf))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(object); err != nil {
			find(where, "%s: %v", head.Kind, err)
			continue
		}
		all = append(all, object)
	}
	return all
}
