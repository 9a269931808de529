package main

import (
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// flagsOf are the names in a program's --help, and whether each takes a value.
func flagsOf(program string) map[string]bool {
	said, err := exec.Command(program, "--help").Output()
	if err != nil {
		find(program, "%v", err)
	}
	found := map[string]bool{}
	line := regexp.MustCompile(`(?m)^\s+(?:-\w,)?--([a-z-]+)( [A-Z].*)?`)
	for _, match := range line.FindAllStringSubmatch(string(said), -1) {
		found[match[1]] = regexp.MustCompile(`^ [A-Z]`).MatchString(match[2])
	}
	if len(found) < 5 {
		find(program, "--help names few flags")
	}
	return found
}

// pods are the pod templates, and the labels by which their owners find them.
type pods struct {
	name     string
	template core.PodTemplateSpec
	selector *meta.LabelSelector
	claims   []core.PersistentVolumeClaim
}

func checkObjects(where string, objects []any, flags map[string]map[string]bool, paths map[string]bool) {
	var all []pods
	names := map[string]bool{}
	for _, object := range objects {
		named, ok := object.(meta.Object)
		kind := reflect.TypeOf(object).Elem().Name()
		if ok && names[kind+" "+named.GetName()] {
			find(where, "two objects of the kind %s are named %s", kind, named.GetName())
		}
		if ok {
			names[kind+" "+named.GetName()] = true
		}
		switch one := object.(type) {
		case *apps.StatefulSet:
			all = append(all, pods{one.Name, one.Spec.Template, one.Spec.Selector, one.Spec.VolumeClaimTemplates})
		case *apps.Deployment:
			all = append(all, pods{one.Name, one.Spec.Template, one.Spec.Selector, nil})
		}
	}
	for _, each := range all {
		checkPods(where+": "+each.name, each, flags, paths)
	}
	for _, object := range objects {
		switch one := object.(type) {
		case *apps.StatefulSet:
			if !names["Service "+one.Spec.ServiceName] {
				find(where, "there is no service %s", one.Spec.ServiceName)
			}
		case *core.Service:
			chosen := chosenBy(where, all, &meta.LabelSelector{MatchLabels: one.Spec.Selector})
			if len(chosen) != 1 {
				find(where, "service %s has %d kinds of pods", one.Name, len(chosen))
			}
			for _, port := range one.Spec.Ports {
				for _, pod := range chosen {
					checkPort(where+": service "+one.Name, pod, port.TargetPort, port.Port)
				}
			}
		case *policy.PodDisruptionBudget:
			if len(chosenBy(where, all, one.Spec.Selector)) != 1 {
				find(where, "budget %s is not of one kind of pods", one.Name)
			}
		case *networking.NetworkPolicy:
			if len(chosenBy(where, all, &one.Spec.PodSelector)) != len(all) {
				find(where, "the network policy is not of all pods")
			}
			checkEgress(where, one, all)
		case *monitoring.ServiceMonitor:
			checkMonitor(where, one, objects, all, paths)
		}
	}
}

// checkEgress: pods may reach the ports of etcd's members, each once.
func checkEgress(where string, policy *networking.NetworkPolicy, all []pods) {
	open := map[string]int{}
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			open[port.Port.String()+"/"+string(*port.Protocol)]++
		}
	}
	for _, argument := range all[0].template.Spec.Containers[0].Args {
		members, found := strings.CutPrefix(argument, "--etcd=")
		if !found {
			continue
		}
		for _, member := range strings.Split(members, ",") {
			port := member[strings.LastIndex(member, ":")+1:]
			if open[port+"/TCP"] != 1 {
				find(where, "the network policy opens etcd's port %s %d times", port, open[port+"/TCP"])
			}
		}
	}
}

func chosenBy(where string, all []pods, by *meta.LabelSelector) []pods {
	selector, err := meta.LabelSelectorAsSelector(by)
	if err != nil {
		find(where, "%v", err)
		return nil
	}
	var chosen []pods
	for _, each := range all {
		if selector.Matches(labels.Set(each.template.Labels)) {
			chosen = append(chosen, each)
		}
	}
	return chosen
}

func containerPort(pod pods, port intstr.IntOrString) (int32, bool) {
	for _, container := range pod.template.Spec.Containers {
		for _, each := range container.Ports {
			if each.Name == port.StrVal || each.ContainerPort == port.IntVal {
				return each.ContainerPort, true
			}
		}
	}
	return 0, false
}

func checkPort(where string, pod pods, target intstr.IntOrString, number int32) {
	if found, ok := containerPort(pod, target); !ok || found != number {
		find(where, "port %d leads to %s, which is %d in the pod", number, target.String(), found)
	}
}

func checkMonitor(where string, monitor *monitoring.ServiceMonitor, objects []any, all []pods, paths map[string]bool) {
	selector, err := meta.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil {
		find(where, "%v", err)
		return
	}
	scraped := map[string]int{}
	for _, object := range objects {
		service, ok := object.(*core.Service)
		if !ok || !selector.Matches(labels.Set(service.Labels)) {
			continue
		}
		for _, pod := range chosenBy(where, all, &meta.LabelSelector{MatchLabels: service.Spec.Selector}) {
			scraped[pod.name]++
		}
		for _, endpoint := range monitor.Spec.Endpoints {
			there := false
			for _, port := range service.Spec.Ports {
				there = there || port.Name == endpoint.Port
			}
			if !there {
				find(where, "service %s has no port %s to scrape", service.Name, endpoint.Port)
			}
		}
	}
	for _, pod := range all {
		if scraped[pod.name] != 1 {
			find(where, "pods of %s are scraped %d times", pod.name, scraped[pod.name])
		}
	}
	for _, endpoint := range monitor.Spec.Endpoints {
		if !paths[endpoint.Path] {
			find(where, "batond has no path %s", endpoint.Path)
		}
	}
}

func checkPods(where string, each pods, flags map[string]map[string]bool, paths map[string]bool) {
	spec := each.template.Spec
	selector, err := meta.LabelSelectorAsSelector(each.selector)
	if err != nil || !selector.Matches(labels.Set(each.template.Labels)) {
		find(where, "its selector does not fit its pods")
	}
	for _, constraint := range spec.TopologySpreadConstraints {
		if len(chosenBy(where, []pods{each}, constraint.LabelSelector)) != 1 {
			find(where, "its spread over %s is of other pods", constraint.TopologyKey)
		}
	}
	context := spec.SecurityContext
	if context == nil || context.RunAsNonRoot == nil || !*context.RunAsNonRoot || context.SeccompProfile == nil ||
		context.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		find(where, "the pod is not restricted")
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		find(where, "the pod gets a token of Kubernetes, which it does not use")
	}
	volumes := map[string]bool{}
	for _, volume := range spec.Volumes {
		volumes[volume.Name] = true
	}
	for _, claim := range each.claims {
		volumes[claim.Name] = true
	}
	used := map[string]bool{}
	for _, container := range append(append([]core.Container{}, spec.InitContainers...), spec.Containers...) {
		checkContainer(where+": "+container.Name, container, flags, paths)
		for _, mount := range container.VolumeMounts {
			used[mount.Name] = true
			if mount.SubPath != "" {
				find(where, "%s is mounted by subPath: its files would never change", mount.Name)
			}
			if !volumes[mount.Name] {
				find(where, "there is no volume %s", mount.Name)
			}
		}
	}
	for name := range volumes {
		if !used[name] {
			find(where, "nobody mounts the volume %s", name)
		}
	}
	for _, container := range spec.InitContainers {
		if container.RestartPolicy == nil || *container.RestartPolicy != core.ContainerRestartPolicyAlways {
			find(where, "%s is no sidecar: the pod would wait for its end", container.Name)
		}
	}
	checkGrace(where, spec)
	checkGuard(where, spec)
}

// checkGuard: a node with --guard=shared has one guard in its pod, which watches the node's folder in the same volume.
func checkGuard(where string, spec core.PodSpec) {
	place := func(container core.Container) string {
		for _, argument := range container.Args {
			folder, found := strings.CutPrefix(argument, "--state-dir=")
			for _, mount := range container.VolumeMounts {
				if found && below(folder, []string{mount.MountPath}) {
					return mount.Name + ":" + folder
				}
			}
		}
		return ""
	}
	node, guards := spec.Containers[0], 0
	for _, container := range spec.InitContainers {
		if contains(container.Command, "baton-guard") {
			guards++
			if place(container) == "" || place(container) != place(node) {
				find(where, "the guard watches %q, the node has %q", place(container), place(node))
			}
		}
	}
	if shared := contains(node.Args, "--guard=shared"); shared != (guards == 1) {
		find(where, "a node with --guard=shared: %v; guards in its pod: %d", shared, guards)
	}
}

// checkGrace compares how long the kubelet waits with what batond may take: --drain-timeout, and 30 s without etcd.
func checkGrace(where string, spec core.PodSpec) {
	for _, argument := range spec.Containers[0].Args {
		text, found := strings.CutPrefix(argument, "--drain-timeout=")
		if !found {
			continue
		}
		seconds, err := strconv.Atoi(strings.TrimSuffix(text, "s"))
		if err != nil || spec.TerminationGracePeriodSeconds == nil ||
			*spec.TerminationGracePeriodSeconds <= int64(seconds)+30 {
			find(where, "the pod is killed before a drain of %s without etcd can end", text)
		}
	}
}

func checkContainer(where string, container core.Container, flags map[string]map[string]bool, paths map[string]bool) {
	program := "batond"
	if len(container.Command) > 0 {
		program = container.Command[0]
	}
	given := map[string]bool{}
	mounted := []string{"/run/baton", "/var/lib/baton"}
	for _, mount := range container.VolumeMounts {
		mounted = append(mounted, mount.MountPath)
	}
	for _, argument := range container.Args {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		takes, known := flags[program][name]
		switch {
		case !strings.HasPrefix(argument, "--") || !known:
			find(where, "%s has no flag %s", program, argument)
		case takes != hasValue:
			find(where, "%s takes --%s otherwise", program, name)
		case given[name]:
			find(where, "--%s is given twice", name)
		case hasValue && value == "":
			find(where, "--%s has no value", name)
		}
		given[name] = true
		if strings.HasPrefix(value, "/etc/baton/") && !below(value, mounted) {
			find(where, "nothing is mounted at %s", value)
		}
	}
	checkVariables(where, container, given, flags["batond"], mounted)
	context := container.SecurityContext
	if context == nil || context.AllowPrivilegeEscalation == nil || *context.AllowPrivilegeEscalation ||
		context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem || context.Capabilities == nil ||
		len(context.Capabilities.Drop) != 1 || context.Capabilities.Drop[0] != "ALL" || len(context.Capabilities.Add) != 0 {
		find(where, "the container is not restricted")
	}
	if container.Resources.Requests.Memory().IsZero() || container.Resources.Limits.Memory().IsZero() {
		find(where, "it asks for no memory, or has no limit")
	}
	if program != "batond" {
		return
	}
	checkMemory(where, container)
	checkSettings(where, batondProgram, container)
	listening := map[string]string{"grpc": "--listen=", "http": "--http="}
	for _, port := range container.Ports {
		flag, number := listening[port.Name], ":"+strconv.Itoa(int(port.ContainerPort))
		if !contains(container.Args, flag+"0.0.0.0"+number) && !contains(container.Args, flag+"[::]"+number) {
			find(where, "port %s does not agree with the flags: no %s with %s", port.Name, flag, number)
		}
	}
	for _, probe := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil {
			find(where, "a probe is missing")
			continue
		}
		_, there := containerPort(pods{template: core.PodTemplateSpec{Spec: core.PodSpec{Containers: []core.Container{container}}}},
			probe.HTTPGet.Port)
		if !there || !paths[probe.HTTPGet.Path] {
			find(where, "batond has no %s at %s", probe.HTTPGet.Path, probe.HTTPGet.Port.String())
		}
		if (probe.HTTPGet.Scheme == core.URISchemeHTTPS) != given["tls-cert"] {
			find(where, "%s is asked by %s", probe.HTTPGet.Path, probe.HTTPGet.Scheme)
		}
	}
	if container.LivenessProbe != nil && container.LivenessProbe.HTTPGet != nil &&
		container.LivenessProbe.HTTPGet.Path != "/livez" {
		find(where, "it is restarted for more than its own trouble")
	}
	if container.LivenessProbe != nil && container.LivenessProbe.TerminationGracePeriodSeconds == nil {
		find(where, "a loop that stands still is killed only after the whole time for a drain")
	}
}

// checkVariables: batond reads variables, too, and those of batonctl must not become settings of batond. With certificates of
// clients batonctl in the pod has what it needs for the other nodes.
func checkVariables(where string, container core.Container, given, known map[string]bool, mounted []string) {
	ofBatonctl := map[string]bool{"endpoint": true, "tls-ca": true, "tls-cert": true, "tls-key": true, "tls-servers": true}
	set := map[string]bool{}
	for _, variable := range container.Env {
		name, ours := strings.CutPrefix(variable.Name, "BATON_")
		if !ours {
			continue
		}
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		set[name] = true
		_, taken := known[name]
		switch {
		case !taken && !ofBatonctl[name]:
			find(where, "neither batond nor batonctl has a flag for %s", variable.Name)
		case taken && ofBatonctl[name] && !given[name]:
			find(where, "%s is meant for batonctl, and batond would take it", variable.Name)
		}
		if strings.HasPrefix(variable.Value, "/etc/baton/") && !below(variable.Value, mounted) {
			find(where, "nothing is mounted at %s", variable.Value)
		}
	}
	for _, name := range []string{"tls-ca", "tls-cert", "tls-key"} {
		if given["tls-client-ca"] != set[name] {
			find(where, "batonctl in the pod has no --%s for the other nodes, or one without need", name)
		}
	}
}

// checkMemory compares the limit with the growth at which batond ends connections: 1 GiB, a relay's 2 GiB
// (src/base/receive_budget.h, kBoundsOfRelay of src/app/daemon/daemon.cc).
func checkMemory(where string, container core.Container) {
	bound := resource.MustParse("1Gi")
	if contains(container.Args, "--relay") {
		bound = resource.MustParse("2Gi")
	}
	if container.Resources.Limits.Memory().Cmp(bound) <= 0 {
		find(where, "the kernel kills batond before it has grown by the %s of its own bound", bound.String())
	}
}

// checkSettings asks batond itself what it thinks of its flags and variables. It names all mistakes, and one that this
// test makes keeps it from starting; files in secrets are not here.
func checkSettings(where, batond string, container core.Container) {
	address := "127.0.0.1"
	if contains(container.Args, "--listen=[::]:7400") {
		address = "fd00::1"
	}
	pod := strings.NewReplacer("$(POD_NAME)", release+"-0", "$(POD_IP)", address)
	var arguments []string
	for _, argument := range container.Args {
		arguments = append(arguments, pod.Replace(argument))
	}
	command := exec.Command(batond, append(arguments, "--log-level=nonsense")...)
	command.Env = []string{"BATON_STATE_DIR=/var/lib/baton/node"} // the image's
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			command.Env = append(command.Env, variable.Name+"="+variable.Value)
		}
	}
	said, err := command.CombinedOutput()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != 2 {
		find(where, "batond did not end with 2: %v", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(said)), "\n") {
		if !strings.Contains(line, "/etc/baton/") && !strings.Contains(line, "nonsense") {
			find(where, "%s", line)
		}
	}
}

func below(path string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}

func contains(all []string, one string) bool {
	for _, each := range all {
		if each == one {
			return true
		}
	}
	return false
}
