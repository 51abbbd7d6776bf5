package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is the decision about one import. Rule is empty if no rule matches the package.
type Verdict struct {
	OK     bool
	Rule   string
	Reason string
}

// CheckImport decides whether a file may import a package. Both are import paths; file is the file's base name, and
// test marks a _test.go file.
func CheckImport(from, imported, file string, test bool) Verdict {
	from, imported = local(from), local(imported)
	rule, ctx := ruleOf(from)
	if rule == nil {
		return Verdict{Reason: "no rule knows this folder: the tree has the folders of docs/architecture.md and no other"}
	}
	v := Verdict{Rule: rule.Name, Reason: rule.Why}
	switch {
	case !test && !supportsTests(from) && supportsTests(imported):
		v.Reason = "what exists for tests stays out of the binary"
	case !test && wired(rule.Name) && under(imported, "go.uber.org/fx") && file != wiringFile:
		v.Reason = "fx belongs to " + wiringFile + ", so that everything else works without a container"
	case anyMatch(rule.Deny, imported, ctx) && !test:
	case allowed(rule, from, imported, ctx):
		v.OK = true
	case test && (imported == from || anyMatch(TestLibraries(), imported, ctx) || anyMatch(rule.InTests, imported, ctx)):
		v.OK = true // an external test package imports the package under test
	}
	return v
}

func allowed(rule *Rule, from, imported, ctx string) bool {
	if anyMatch(rule.Allow, imported, ctx) {
		return true
	}
	switch rule.Name {
	case "contract":
		return anyMatch(ports(Neighbours()[ctx]), imported, "")
	case "adapter":
		return adapterAllows(from, imported) || supportsTests(from) && anyMatch(suiteLibraries(), imported, "")
	default:
		return false
	}
}

// adapterAllows covers the imports that depend on the adapter's own name: its library and its own folders.
func adapterAllows(from, imported string) bool {
	parts := strings.Split(strings.TrimPrefix(from, "./adapters/"), "/")
	family := parts[0]
	if anyMatch(Libraries()[family], imported, "") {
		return true
	}
	if len(parts) == 1 || family == "sqlstore" && parts[1] == "migrations" {
		return under(imported, "./adapters/"+family) || family == "web" && imported == "./adapters/httpapi"
	}
	switch family {
	case "sqlstore":
		// The stores share a folder of sqlstore that is not a context.
		rest, ok := strings.CutPrefix(imported, "./adapters/sqlstore/")
		return ok && (parts[1] == rest || !slices.Contains(Contexts(), strings.Split(rest, "/")[0]) &&
			slices.Contains(Contexts(), parts[1]))
	case "httpapi":
		return imported == "./adapters/httpapi" || under(imported, "./adapters/httpapi/"+parts[1])
	case "web":
		// Sections share the frame, and the surface of HTTP knows the caller.
		return imported == "./adapters/httpapi" || under(imported, "./adapters/web") &&
			(under(imported, "./adapters/web/"+parts[1]) || slices.Contains(sharedPages(), imported))
	case "importers":
		// Formats share what reads and collects; see the comment of the package.
		return under(imported, "./adapters/importers/"+parts[1]) || slices.Contains(sharedReaders(), imported)
	case "tools":
		return under(imported, "./adapters/tools/proc") || under(imported, "./adapters/tools/"+parts[1])
	default:
		return under(imported, "./adapters/"+family+"/"+parts[1])
	}
}

// sharedPages lists the packages of the web interface that its sections may import.
func sharedPages() []string {
	return []string{"./adapters/web/shell", "./adapters/web/assets", "./adapters/web/runview",
		"./adapters/web/policyview", "./adapters/web/adviceview"}
}

// sharedReaders lists the packages that the formats of imports may import.
func sharedReaders() []string {
	return []string{
		"./adapters/importers/draft", "./adapters/importers/document", "./adapters/importers/archive",
		"./adapters/importers/crontime", "./adapters/importers/fleet",
	}
}

func wired(rule string) bool { return rule == "module" || rule == "adapter" }

// supportsTests matches packages for tests: suites, fixtures and the standard library's own.
func supportsTests(pkg string) bool {
	last := pkg[strings.LastIndexByte(pkg, '/')+1:]
	switch {
	case under(pkg, "./e2e"):
		return true
	case strings.HasPrefix(pkg, "./"):
		return strings.HasSuffix(last, "test")
	default:
		return pkg == "testing" || strings.HasPrefix(pkg, "testing/") || last == "humatest" || last == "fxtest" ||
			anyMatch(suiteLibraries(), pkg, "")
	}
}

func local(path string) string {
	if path == Module {
		return "."
	}
	if rest, ok := strings.CutPrefix(path, Module+"/"); ok {
		return "./" + rest
	}
	return path
}

func ruleOf(pkg string) (*Rule, string) {
	for _, r := range Rules() {
		for _, p := range r.From {
			if ctx, ok := match(p, pkg, ""); ok && known(r.Name, pkg, ctx) {
				return &r, ctx
			}
		}
	}
	return nil, ""
}

// known keeps the folders of the tree to the lists: contexts, and adapters with a declared library.
func known(rule, pkg, ctx string) bool {
	switch rule {
	case "module", "contract":
		return slices.Contains(Contexts(), ctx)
	case "adapter":
		_, ok := Libraries()[strings.Split(pkg, "/")[2]]
		return ok
	default:
		return true
	}
}

func anyMatch(patterns []string, pkg, ctx string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		switch p {
		case "std":
			return standard(pkg)
		case "third":
			return !standard(pkg) && !strings.HasPrefix(pkg, "./")
		}
		_, ok := match(p, pkg, ctx)
		return ok
	})
}

// match compares segment by segment and returns the segment that <ctx> matched. A non-empty ctx binds it beforehand.
func match(pattern, pkg, ctx string) (string, bool) {
	have := strings.Split(pkg, "/")
	for i, want := range strings.Split(pattern, "/") {
		if want == "**" {
			return ctx, true
		}
		if i >= len(have) {
			return "", false
		}
		if rest, ok := strings.CutPrefix(want, "<ctx>"); ok {
			name, fits := strings.CutSuffix(have[i], rest)
			if !fits || name == "" || ctx != "" && ctx != name {
				return "", false
			}
			ctx = name
			continue
		}
		if want != "*" && want != have[i] {
			return "", false
		}
	}
	return ctx, len(have) == len(strings.Split(pattern, "/"))
}

func under(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// standard matches the standard library: its first segment is not a host name.
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.HasPrefix(pkg, ".") && !strings.Contains(first, ".")
}

// Table renders the rules for docs/architecture.md.
func Table() string {
	var b strings.Builder
	b.WriteString("| Layer | From | May import | Never |\n|---|---|---|---|\n")
	for _, r := range Rules() {
		from := make([]string, 0, len(r.From))
		for _, f := range r.From {
			from = append(from, "`"+strings.TrimPrefix(f, "./")+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Name, strings.Join(from, ", "), r.May, r.Never)
	}
	b.WriteString(
		"\nContract to contract, a graph without cycles; a context that is not named refers to no neighbour:\n\n")
	for _, ctx := range Contexts() {
		if n := Neighbours()[ctx]; len(n) > 0 {
			fmt.Fprintf(&b, "- `%s` -> `%s`\n", ctx, strings.Join(n, "`, `"))
		}
	}
	b.WriteString("\nWhy each layer is bounded:\n\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "- **%s**: %s.\n", r.Name, r.Why)
	}
	return b.String()
}
