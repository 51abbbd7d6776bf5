package arch

// Module is the import path of this repository.
const Module = "github.com/writ-automation/writ"

// Rule lists the allowed imports of the packages of one layer.
//
// From, Allow and Deny are patterns over import paths. "./x" is the folder x of this module, "std" the whole standard
// library, anything else a package outside of it. A segment "*" matches one segment, "<ctx>" one segment that is the
// same wherever it appears in the rule, and a final "**" any number of segments, also none. Deny takes precedence over
// Allow. The first rule that matches a package applies to it.
type Rule struct {
	Name  string
	From  []string
	Allow []string
	Deny  []string
	// InTests is allowed in _test.go files in addition to Allow.
	InTests []string
	// May and Never describe the same for readers of the generated table.
	May   string
	Never string
	// Why is printed with each violation.
	Why string
}

// Kernel lists the ports that every layer shares.
func Kernel() []string {
	return []string{
		"fault", "tx", "events", "page", "actor", "access", "clock", "ids", "secret", "secret/mask", "reserved",
		"lazyregexp", "linediff", "near", "plaintext",
	}
}

// Contexts lists the bounded contexts. The list is closed: a new context needs a decision record.
func Contexts() []string {
	return []string{
		"runs", "audit", "estate", "identity", "policy", "importer", "ai", "catalog", "scheduling", "secrets",
		"execution", "notify", "system",
	}
}

// Neighbours lists, for each context, the contexts whose contract its own contract may name.
func Neighbours() map[string][]string {
	return map[string][]string{
		"execution": {"catalog", "runs", "secrets"}, "estate": {"runs"}, "policy": {"runs"}, "catalog": {"runs"},
		"notify":  {"estate", "runs"},
		"secrets": {"catalog"}, "ai": {"runs"}, "scheduling": {"catalog", "runs"}, "importer": {"runs"},
	}
}

// Libraries lists the external packages that each adapter may import. A folder below adapters that is neither listed
// here nor below a listed one is a violation.
func Libraries() map[string][]string {
	return map[string][]string{
		"sqlstore":  {"github.com/uptrace/bun/**", "github.com/klauspost/compress/**"},
		"outbox":    {"github.com/uptrace/bun/**"},
		"metrics":   {"github.com/prometheus/client_golang/**"},
		"watermill": {"github.com/ThreeDotsLabs/**", "github.com/nats-io/**"},
		"httpapi":   {"github.com/danielgtaylor/huma/v2/**", "github.com/prometheus/client_golang/**"},
		"anchor":    nil,
		"casbin":    {"github.com/casbin/casbin/v2/**"},
		"argon2":    {"golang.org/x/crypto/**"},
		"sso": {
			"github.com/coreos/go-oidc/**", "golang.org/x/oauth2/**", "github.com/go-jose/go-jose/v4/**",
			"github.com/crewjam/saml/**", "github.com/russellhaering/goxmldsig/**", "github.com/beevik/etree/**",
			"github.com/mattermost/xml-roundtrip-validator",
		},
		"tools":  {"golang.org/x/sys/**", "go.yaml.in/yaml/v3"},
		"probes": {"golang.org/x/sys/**"},
		"secrets": {
			"golang.org/x/crypto/**", "golang.org/x/oauth2/**", "github.com/aws/aws-sdk-go-v2/**", "github.com/aws/smithy-go/**",
		},
		"notify":      {"github.com/wneessen/go-mail/**"},
		"ai":          nil,
		"git":         nil,
		"inventory":   nil,
		"importers":   {"go.yaml.in/yaml/v3", "github.com/robfig/cron/v3"},
		"relayclient": nil,
		"mcp":         {"github.com/modelcontextprotocol/go-sdk/**"},
		"goplugin":    {"github.com/hashicorp/**", "google.golang.org/**"},
		"web": {
			"github.com/a-h/templ/**", "github.com/yuin/goldmark/**", "github.com/danielgtaylor/huma/v2/**", "./docs",
			"go.yaml.in/yaml/v3",
		},
	}
}

// TestLibraries lists the packages that tests may import in addition.
func TestLibraries() []string {
	return []string{
		"std", "github.com/google/go-cmp/**", "pgregory.net/rapid", "go.uber.org/goleak", "go.uber.org/fx/**",
		"github.com/danielgtaylor/huma/v2/**", "github.com/rogpeppe/go-internal/**", "go.yaml.in/yaml/v3",
		"github.com/klauspost/compress/**", "github.com/casbin/govaluate",
		"github.com/gowebpki/jcs", "./ports/**", "./platform/**",
	}
}

// fx is allowed only in files of this name, for every layer below cmd.
const wiringFile = "module.go"

// Rules lists the layers from the most specific to the most general.
func Rules() []Rule {
	return append(portRules(), outerRules()...)
}

func portRules() []Rule {
	return []Rule{
		{
			Name: "kernel", From: ports(Kernel()), Allow: []string{"std", "./ports/fault"},
			May: "standard library; `ports/fault`, the one error type", Never: "anything else",
			Why: "every layer depends on the kernel, so whatever it imports is imported by all",
		},
		{
			Name: "objects", From: []string{"./ports/object"},
			Allow: append([]string{"std", "./ports/audit", "./ports/identity"}, ports(Kernel())...),
			May:   "kernel, `ports/audit`, `ports/identity`", Never: "anything else",
			Why: "every named object is recorded, granted and referred to alike, so the contexts share one copy of that",
		},
		{
			Name: "test support", From: []string{"./ports/depthtest", "./ports/waittest"},
			Allow: []string{"std"}, May: "standard library",
			Never: "anything else",
			Why:   "every test and suite may ask how far to go and wait, so nothing comes with that",
		},
		{
			Name: "plugin contract", From: []string{"./ports/extension/plugin/**"},
			Allow: []string{"std", "./ports/extension/**", "github.com/hashicorp/go-plugin/**",
				"github.com/hashicorp/go-hclog", "google.golang.org/**"},
			May: "`ports/extension`, go-plugin with its logger, gRPC", Never: "anything else",
			Why: "a plugin's author compiles this package and should compile nothing else of Writ",
		},
		{
			Name: "suite", From: []string{"./ports/<ctx>/<ctx>test/**"},
			Allow: append([]string{"std", "./ports/**"}, suiteLibraries()...),
			May:   "its ports, kernel, `testing`, the test libraries", Never: "modules, platform, adapters",
			Why: "a suite proves any adapter, also one outside of this repository, so it knows contracts alone",
		},
		{
			Name: "extension contract", From: []string{"./ports/extension/**"}, Allow: []string{"std"},
			May: "standard library", Never: "anything else",
			Why: "an extension's author imports this package and should get nothing else with it",
		},
		{
			Name: "proof library", From: []string{"./ports/proof/**"},
			Allow: []string{
				"std", "./ports/proof/**", "golang.org/x/crypto/**", "golang.org/x/mod/sumdb/**",
				"github.com/transparency-dev/merkle/**",
				"github.com/secure-systems-lab/go-securesystemslib/**", "github.com/digitorus/timestamp",
				"github.com/digitorus/pkcs7",
			},
			May: "standard library, `x/crypto`; notes, Merkle proofs, DSSE, RFC 3161 and CMS", Never: "anything else",
			Why: "an auditor's program compiles these packages and should compile nothing else of Writ",
		},
		{
			Name: "contract", From: []string{"./ports/<ctx>"}, Allow: contractAllows(),
			May: "kernel, `ports/object`, `ports/proof/**`, `ports/extension`; other contexts' ports only along the list " +
				"below",
			Never: "third party",
			Why:   "contracts form a graph without cycles; other neighbours are named by string id or heard of by event",
		},
	}
}

func outerRules() []Rule {
	return []Rule{
		{
			Name: "module", From: []string{"./modules/<ctx>/**"},
			Allow: []string{
				"std", "./ports/**", "./platform/background", "./modules/<ctx>/**", "go.uber.org/fx", "github.com/robfig/cron/v3",
				"go.yaml.in/yaml/v3", "golang.org/x/crypto/ssh", "github.com/a-h/templ/**",
			},
			Deny: append([]string{"net/http/**", "database/sql/**", "os/exec"}, callers()...),
			InTests: []string{
				"./adapters/sqlstore/**", "./adapters/outbox/**", "./adapters/watermill/**", "golang.org/x/mod/sumdb/**",
			},
			May: "`ports/**`, `platform/background`, its own `internal`; `fx` in `module.go` only; cron, yaml, the formats " +
				"of ssh, components of templ",
			Never: "adapters, platform, other modules, bun, huma, watermill, `net/http`, `database/sql`, `os/exec`",
			Why:   "behaviour that knows no technology can be read, tested and moved without one",
		},
		{
			Name: "adapter", From: []string{"./adapters/**"},
			Allow: []string{"std", "./ports/**", "./platform/**", "go.uber.org/fx"}, Deny: callers(),
			InTests: []string{"./adapters/**"},
			May:     "`ports/**`, `platform/**`, the one library it adapts; `fx` in `module.go` only",
			Never: "modules; other adapters, except `sqlstore` -> its own folders, `sqlstore/<ctx>` -> what is no context " +
				"there, `httpapi/<ctx>` -> `adapters/httpapi`, `web/**` -> `adapters/httpapi` and its shared packages, " +
				"`tools/<x>` -> `tools/proc`, `importers/<format>` -> what formats share",
			Why: "an adapter that knows another one, or the behaviour behind its port, cannot be exchanged alone",
		},
		{
			Name: "platform", From: []string{"./platform/**"},
			Allow: append([]string{"std", "third", "./platform/**"}, ports(Kernel())...),
			May:   "standard library, third party, kernel ports", Never: "contexts, modules, adapters",
			Why: "the platform serves every context and knows none",
		},
		{
			Name: "composition", From: []string{"./cmd/compose/**"}, Allow: []string{"std", "third", "./**"},
			Deny: callers(),
			May:  "everything", Never: "-",
			Why: "one place chooses what is wired to what",
		},
		{
			Name: "command line", From: []string{"./cmd/**"},
			Allow: []string{"std", "third", "./ports/**", "./platform/**", "./cmd/**", "./docs", "./configs"},
			Deny:  callers(),
			May:   "`cmd/compose`, `ports/**`, `platform/**`, third party", Never: "modules, adapters",
			Why: "only cmd/compose chooses adapters; a command takes what it composed",
		},
		{
			Name: "end to end", From: []string{"./e2e/**"},
			Allow: []string{"std", "third", "./cmd/**", "./ports/**", "./e2e/**", "./docs", "./configs", "./platform/**",
				"./adapters/sqlstore/migrations"},
			May: "`cmd/**`, `ports/**`, `platform/**`, the migrations; HTTP otherwise", Never: "modules, adapters",
			Why: "these tests see what a user sees",
		},
		{
			Name: "example", From: []string{"./docs/examples/**"},
			Allow:   []string{"std", "./cmd/cli", "./cmd/compose", "./ports/**", "./docs"},
			InTests: []string{"./adapters/sqlstore/**", "./platform/**"},
			May:     "standard library, `cmd/cli`, `cmd/compose`, `ports/**`, `docs`", Never: "anything else",
			Why: "an example shows what an integrator's own binary needs",
		},
		{
			Name: "documents", From: []string{"./docs/**", "./configs/**"}, Allow: []string{"std"},
			InTests: []string{"third", "./platform/**", "./cmd/**"},
			May:     "standard library", Never: "anything else",
			Why: "these packages only embed files",
		},
	}
}

// callers lists the packages that call methods by names that they compute. A program that reaches one of them keeps all
// exported methods of its types (docs/adr/0091-methods-that-nobody-calls.md).
func callers() []string { return []string{"text/template", "html/template", "net/rpc/**"} }

func suiteLibraries() []string {
	return []string{"github.com/google/go-cmp/**", "pgregory.net/rapid", "go.uber.org/goleak"}
}

func contractAllows() []string {
	return append([]string{"std", "./ports/extension", "./ports/object", "./ports/proof/**"}, ports(Kernel())...)
}

// ports makes patterns of the names of contracts.
func ports(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, "./ports/"+n)
	}
	return out
}
