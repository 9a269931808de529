// Command helm checks packaging/helm/baton as Helm and Kubernetes do, without a cluster: Helm's linter and engine,
// Kubernetes' own API types, read strictly, and what only this repository knows: batond's flags, paths and rules.
//
//	helm -root ROOT -batond BATOND -guard BATON_GUARD
//
// It prints a line for each finding, and ends with 1 if there are any. With -render FILE it prints what Helm would send.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

const release, namespace = "orders", "shop"

var (
	findings      int
	batondProgram string
)

func find(where, format string, arguments ...any) {
	findings++
	fmt.Printf("%s: %s\n", where, fmt.Sprintf(format, arguments...))
}

func main() {
	root := flag.String("root", "", "the repository")
	batond := flag.String("batond", "", "the program batond")
	guard := flag.String("guard", "", "the program baton-guard")
	only := flag.String("render", "", "print what this file with values gives, and check nothing")
	flag.Parse()
	batondProgram = *batond
	chart := filepath.Join(*root, "packaging/helm/baton")
	if *only != "" {
		text, err := render(chart, *only)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(text)
		return
	}
	flags := map[string]map[string]bool{"batond": flagsOf(*batond), "baton-guard": flagsOf(*guard)}
	paths := pathsOf(filepath.Join(*root, "docs/reference.md"))
	files, err := filepath.Glob(filepath.Join(*root, "tests/helm/values/*.yaml"))
	if err != nil || len(files) == 0 {
		find("tests/helm/values", "no files")
	}
	sort.Strings(files)
	objects := 0
	for _, file := range files {
		where := filepath.Base(file)
		lint(chart, file, where)
		text, err := render(chart, file)
		if err != nil {
			find(where, "%v", err)
			continue
		}
		decoded := decode(where, text)
		objects += len(decoded)
		checkObjects(where, decoded, flags, paths)
	}
	checkRefusals(chart)
	checkScaling(chart)
	checkRules(*root, chart)
	checkValues(chart)
	fmt.Printf("%d value files, %d objects, %d findings\n", len(files), objects, findings)
	if findings > 0 {
		os.Exit(1)
	}
}

// pathsOf are the paths that docs/reference.md lists, which a test compares with the sources.
func pathsOf(reference string) map[string]bool {
	text, err := os.ReadFile(reference)
	if err != nil {
		find("docs/reference.md", "%v", err)
		return nil
	}
	found := map[string]bool{}
	inside := false
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "## ") {
			inside = line == "## HTTP"
		}
		if inside && strings.HasPrefix(line, "| `/") {
			found[strings.SplitN(line, "`", 3)[1]] = true
		}
	}
	return found
}
