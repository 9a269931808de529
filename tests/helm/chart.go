package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const least = "group: g\nshards: 4\netcd: {endpoints: ['e:1']}\n"

// checkRefusals: what would start nothing, or something unsafe, is refused with a word that says why.
func checkRefusals(chart string) {
	for _, each := range []struct{ values, word string }{
		{least, "insecure=true"},
		{"insecure: true\nshards: 4\netcd: {endpoints: ['e:1']}\n", "group"},
		{"insecure: true\ngroup: g\netcd: {endpoints: ['e:1']}\n", "shards"},
		{"insecure: true\ngroup: g\nshards: 4\n", "endpoints"},
		{least + "insecure: true\nreplicas: 5\n", "replicas"},
		{least + "insecure: true\nnodes: {flags: {group: other}}\n", "'group'"},
		{least + "insecure: true\nnodes: {flags: {label: disk=ssd}}\n", "'label'"},
		{least + "insecure: true\nnodes: {flags: {max-moves: 1.5}}\n", "max-moves"},
		{least + "insecure: true\nnodes: {flags: {hang-timeout: 2s}}\n", "nodes.guard=own"},
		{least + "insecure: true\nnodes: {flags: {audit-file: /var/lib/baton/audit}}\n", "a file that grows"},
		{least + "insecure: true\nrelays: {flags: {events-file: /dev/stdout}}\n", "a file that grows"},
		{least + "insecure: true\nnodes: {flags: {sidecar: '127.0.0.1:7402'}}\n", "an application"},
		{least + "insecure: true\nnodes: {labels: {zone: a}}\n", "'zone'"},
		{least + "insecure: true\nnodes: {labels: {disk: a b}}\n", "disk"},
		{least + "insecure: true\nnodes: {guard: shared}\n", "guard"},
		{least + "insecure: true\nnodes: {kind: Deployment, state: {persistent: true}}\n", "StatefulSet"},
		{"insecure: true\ngroup: g\nshards: 4\netcd: {endpoints: ['e:1'], user: u}\n", "passwordSecret"},
		{least + "insecure: true\nlistenHost: '::'\n", "listenHost"},
		{least + "insecure: true\nhttpHosts: ['a,b']\n", "httpHosts"},
		{least + "tls: {certificate: {create: true}, secret: s}\n", "issuerRef"},
		{least + "tls: {secret: s, clientAuth: require}\n", "clientAuth"},
		{least + "tls: {secret: s, certificate: {uri: 'spiffe://example.org'}}\n", "uri"},
	} {
		if _, err := renderText(chart, each.values); err == nil {
			find("refusals", "these values are taken:\n%s", each.values)
		} else if !strings.Contains(err.Error(), each.word) {
			find("refusals", "%q is not in: %v", each.word, err)
		}
	}
}

// checkScaling: more nodes or relays restart none, since each restart moves shards.
func checkScaling(chart string) {
	templates := func(more string) map[string]core.PodTemplateSpec {
		text, err := renderText(chart, least+"insecure: true\n"+more)
		if err != nil {
			find("scaling", "%v", err)
		}
		found := map[string]core.PodTemplateSpec{}
		for _, object := range decode("scaling", text) {
			switch one := object.(type) {
			case *apps.StatefulSet:
				found[one.Name] = one.Spec.Template
			case *apps.Deployment:
				found[one.Name] = one.Spec.Template
			}
		}
		return found
	}
	few, many := templates("nodes: {replicas: 3}\nrelays: {replicas: 1}\n"), templates("nodes: {replicas: 9}\nrelays: {replicas: 4}\n")
	if len(few) != 2 || !reflect.DeepEqual(few, many) {
		find("scaling", "more replicas change the pods, so all of them would start again")
	}
}

// checkRules: the chart has the rules and alerts of dashboards/, and renders them as they are.
func checkRules(root, chart string) {
	type document struct {
		Groups []monitoring.RuleGroup `json:"groups"`
	}
	var expected []monitoring.RuleGroup
	for _, name := range []string{"rules.yaml", "alerts.yaml"} {
		original, err := os.ReadFile(filepath.Join(root, "dashboards/prometheus", name))
		if err != nil {
			find(name, "%v", err)
		}
		copied, err := os.ReadFile(filepath.Join(chart, "files", name))
		if err != nil || string(copied) != string(original) {
			find("packaging/helm/baton/files/"+name, "is not dashboards/prometheus/%s: copy it", name)
		}
		var parsed document
		if err := yaml.UnmarshalStrict(original, &parsed); err != nil {
			find(name, "%v", err)
		}
		expected = append(expected, parsed.Groups...)
	}
	for _, runbooks := range []string{"", "https://git.example/baton/"} {
		text, err := renderText(chart, least+"insecure: true\nprometheusRule: {enabled: true, runbooks: '"+runbooks+"'}\n")
		if err != nil {
			find("rules", "%v", err)
			continue
		}
		for _, object := range decode("rules", text) {
			rule, ok := object.(*monitoring.PrometheusRule)
			if !ok {
				continue
			}
			for _, group := range rule.Spec.Groups {
				for _, each := range group.Rules {
					if url, ok := each.Annotations["runbook_url"]; ok {
						each.Annotations["runbook_url"] = strings.TrimPrefix(url, runbooks)
					}
				}
			}
			if !reflect.DeepEqual(rule.Spec.Groups, expected) {
				find("rules", "the PrometheusRule is not dashboards/prometheus")
			}
		}
	}
}

// checkValues: each value is documented, in the schema and used, and templates use no other.
func checkValues(chart string) {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		find("values.yaml", "%v", err)
		return
	}
	var values, schema map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		find("values.yaml", "%v", err)
	}
	schemaText, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err == nil {
		err = json.Unmarshal(schemaText, &schema)
	}
	if err != nil {
		find("values.schema.json", "%v", err)
	}
	checkDocumented(string(text))
	compareWithSchema("", values, schema)

	templates := ""
	files, _ := filepath.Glob(filepath.Join(chart, "templates/*"))
	for _, file := range files {
		part, err := os.ReadFile(file)
		if err != nil {
			find(file, "%v", err)
		}
		templates += string(part)
	}
	used := map[string]bool{}
	for _, match := range regexp.MustCompile(`\.Values\.([A-Za-z.]+[A-Za-z])`).FindAllStringSubmatch(templates, -1) {
		used[match[1]] = true
	}
	for path := range used {
		if !exists(values, strings.Split(path, ".")) {
			find("templates", ".Values.%s is not in values.yaml", path)
		}
	}
	for _, path := range leaves("", values) {
		if !usedBy(used, path) {
			find("values.yaml", "no template uses %s", path)
		}
	}
}

// checkDocumented: a comment that is a sentence stands above each key, but above those that only hold others.
func checkDocumented(text string) {
	lines := strings.Split(text, "\n")
	key := regexp.MustCompile(`^( *)([A-Za-z]+):( .*)?$`)
	inside := 0 // how far keys are indented that belong to a documented value, such as requests
	for number, line := range lines {
		match := key.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		indent := len(match[1])
		if inside > 0 && indent >= inside {
			continue
		}
		inside = 0
		documented := number > 0 && strings.HasPrefix(strings.TrimSpace(lines[number-1]), "# ") &&
			strings.HasSuffix(lines[number-1], ".")
		if holds := match[3] == ""; holds && !documented {
			continue
		} else if !documented {
			find("values.yaml", "line %d: no comment above %s", number+1, match[2])
		} else if holds {
			inside = indent + 1
		}
	}
}

func compareWithSchema(path string, values, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		return // any object
	}
	if schema["additionalProperties"] != false {
		find("values.schema.json", "%s takes any name", path)
	}
	for name, value := range values {
		inner, known := properties[name].(map[string]any)
		if !known {
			find("values.schema.json", "%s%s is missing", path, name)
		}
		if object, ok := value.(map[string]any); ok {
			compareWithSchema(path+name+".", object, inner)
		}
	}
	for name := range properties {
		if _, known := values[name]; !known && path+name != "global" && !strings.HasSuffix(path, "esources.") {
			find("values.yaml", "%s%s is missing", path, name)
		}
	}
}

func exists(values map[string]any, path []string) bool {
	value, there := values[path[0]]
	if !there || len(path) == 1 {
		return there
	}
	object, ok := value.(map[string]any)
	return ok && exists(object, path[1:])
}

func leaves(path string, values map[string]any) []string {
	var all []string
	for name, value := range values {
		if object, ok := value.(map[string]any); ok && len(object) > 0 {
			all = append(all, leaves(path+name+".", object)...)
		} else {
			all = append(all, path+name)
		}
	}
	sort.Strings(all)
	return all
}

// usedBy: a template names it, or one that holds it, which toYaml then prints.
func usedBy(used map[string]bool, path string) bool {
	for parts := strings.Split(path, "."); len(parts) > 1; parts = parts[:len(parts)-1] {
		if used[strings.Join(parts, ".")] {
			return true
		}
	}
	return used[path]
}
