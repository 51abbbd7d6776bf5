package risk

import (
	"slices"
	"strings"
	"sync"

	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/runs"
)

// Rule is one of the fixed rules.
type Rule struct {
	Name string
	// Level is the least level of what matches. A rule without one lowers the level by one.
	Level runs.RiskLevel
	// Reason is what a record says of a run that matches.
	Reason string
	// Text says what matches, for the documents.
	Text  string
	match func(x *facts) bool
}

// facts are a subject, and the patterns that its command matches, as bits.
type facts struct {
	*subject.Subject
	found uint32
}

// Rules returns the rules in the order of their reasons.
func Rules() []Rule { return slices.Clone(rules()) }

var rules = sync.OnceValue(func() []Rule {
	return slices.Concat(toolRules(), commandRules(), hostRules(), settingRules(), []Rule{{
		Name: "dry_run", Reason: "It is a dry run, which lowers the risk by one level.",
		Text: "A dry run of which the tool only checks, unlike a script with `dry_run_executes`. It lowers the level that " +
			"the other rules give by one, and never below low.",
		match: func(x *facts) bool { return x.DryRun },
	}})
})

func toolRules() []Rule {
	return []Rule{{
		Name: "script", Level: runs.MediumRisk, Reason: "It executes a script.",
		Text:  "The tool is `bash`, `python`, `powershell` or `go`.",
		match: func(x *facts) bool { return x.Script() },
	}, {
		Name: "plugin", Level: runs.MediumRisk, Reason: "It uses a tool of an extension.",
		Text:  "The tool comes from an extension: Writ does not know what it does.",
		match: func(x *facts) bool { return x.Tool != runs.Ansible && !x.Script() },
	}}
}

// Numbers of hosts above which a run has a higher risk.
const (
	someHosts = 10
	manyHosts = 100
	mostHosts = 1000
)

func hostRules() []Rule {
	between := func(low, high int) func(x *facts) bool {
		return func(x *facts) bool { return x.Targets.Hosts > low && (high == 0 || x.Targets.Hosts <= high) }
	}
	return []Rule{{
		Name: "hosts_unknown", Level: runs.MediumRisk, Reason: "The number of its hosts is not known before it runs.",
		Text: "The inventory is read where the run is executed, or refreshed before it, so that the number of hosts is not " +
			"known.",
		match: func(x *facts) bool { return x.Targets.Hosts < 0 },
	}, {
		Name: "hosts_over_10", Level: runs.MediumRisk, Reason: "It targets more than 10 hosts.",
		Text: "It targets 11 to 100 hosts.", match: between(someHosts, manyHosts),
	}, {
		Name: "hosts_over_100", Level: runs.HighRisk, Reason: "It targets more than 100 hosts.",
		Text: "It targets 101 to 1000 hosts.", match: between(manyHosts, mostHosts),
	}, {
		Name: "hosts_over_1000", Level: runs.CriticalRisk, Reason: "It targets more than 1000 hosts.",
		Text: "It targets more than 1000 hosts.", match: between(mostHosts, 0),
	}, {
		Name: "whole_inventory", Level: runs.MediumRisk, Reason: "It targets every host of its inventory.",
		Text: "It targets every host of an inventory of more than 10, without a limit or with one that selects all.",
		match: func(x *facts) bool {
			return x.Targets.Of > someHosts && x.Targets.Hosts >= x.Targets.Of
		},
	}}
}

func settingRules() []Rule {
	return []Rule{{
		Name: "production", Level: runs.HighRisk, Reason: "A label says that it is for production.",
		Text: "A label `env`, `environment`, `stage` or `tier` has the value `prod`, `production` or `live`, in any case " +
			"of letters. A step has the labels of its pipeline and of the template that it launches.",
		match: production,
	}, {
		Name: "credentials", Level: runs.MediumRisk, Reason: "It uses credentials.",
		Text:  "It gets one or more credentials, its own or inherited ones.",
		match: func(x *facts) bool { return len(x.CredentialIDs) > 0 },
	}, {
		Name: "become", Level: runs.MediumRisk, Reason: "It becomes another user.",
		Text: "The variable `ansible_become`, or `ANSIBLE_BECOME` of its environment, is not false, or its command calls " +
			"`sudo`, `su -`, `doas`, `runuser` or `pkexec`.",
		match: become,
	}, {
		Name: "root_on_executor", Level: runs.HighRisk, Reason: "It may become root on the executor.",
		Text:  "Its isolation profile is `host`.",
		match: func(x *facts) bool { return x.Profile == runs.HostProfile },
	}, {
		Name: "network_device", Level: runs.HighRisk, Reason: "It configures network devices.",
		Text: "The variable `ansible_connection`, or `ANSIBLE_TRANSPORT` of its environment, is `network_cli`, `netconf` " +
			"or `httpapi`, or the variable `ansible_network_os` is set.",
		match: network,
	}}
}

func production(x *facts) bool {
	for _, key := range [...]string{"env", "environment", "stage", "tier"} {
		if x.Labelled(key, func(value string) bool {
			value = strings.ToLower(strings.TrimSpace(value))
			return value == "prod" || value == "production" || value == "live"
		}) {
			return true
		}
	}
	return false
}

// become takes every value that Ansible does not read as false: a template may turn out to be true.
func become(x *facts) bool {
	switch strings.ToLower(strings.TrimSpace(x.Setting("ansible_become", "ANSIBLE_BECOME"))) {
	case "", "false", "no", "off", "0", "n", "f", "null":
		return calls(becomeUser)(x)
	}
	return true
}

func network(x *facts) bool {
	connection := x.Setting("ansible_connection", "ANSIBLE_TRANSPORT")
	switch strings.TrimSpace(connection[strings.LastIndexByte(connection, '.')+1:]) {
	case "network_cli", "netconf", "httpapi":
		return true
	}
	return x.Setting("ansible_network_os", "") != ""
}
