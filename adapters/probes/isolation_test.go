package probes_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/probes"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/system"
)

func TestIsolation(t *testing.T) {
	t.Parallel()
	accounts := func(n int) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return n, nil }
	}
	strong := boundary.Status{Level: boundary.Namespaces, LandlockABI: 7, Scoped: true, Filtered: true,
		Accounts: boundary.Range{First: 65600, Last: 66623}}
	overlapping := strong
	overlapping.Accounts = boundary.Range{First: 1, Last: os.Getuid() + 100_000}
	weak := boundary.Status{Level: boundary.Landlock, LandlockABI: 3, Reason: "namespaces is not possible: ask somebody"}
	none := boundary.Status{Level: boundary.None, Reason: "isolation is switched off"}
	for name, c := range map[string]struct {
		p    probes.IsolationParams
		want []string // severity and a part of the problem
	}{
		"executes nothing": {probes.IsolationParams{Status: none, Accounts: accounts(9)}, nil},
		"strong": {probes.IsolationParams{Status: strong, Executes: true, Root: true, WorkDir: "/w"},
			[]string{"info memory"}},
		"none, one account": {probes.IsolationParams{Status: none, Executes: true, Accounts: accounts(1)},
			[]string{"warning not kept apart"}},
		"none, many accounts": {probes.IsolationParams{Status: none, Executes: true, Accounts: accounts(2)},
			[]string{"error not kept apart"}},
		"none, as root": {probes.IsolationParams{Status: none, Executes: true, Root: true, Accounts: accounts(1)},
			[]string{"error not kept apart"}},
		"weak": {probes.IsolationParams{Status: weak, Executes: true, DataDir: "/d", WorkDir: "/d",
			Alone: []string{"/w/writ.db"}},
			[]string{"warning less than possible", "warning abstract sockets", "error work directory", "error /w/writ.db",
				"info memory"}},
		"can be limited": {probes.IsolationParams{Status: strong, Executes: true, WorkDir: "/w"},
			[]string{"info memory"}},
		"is limited": {probes.IsolationParams{Status: strong, Executes: true, WorkDir: "/w", Memory: 1 << 30}, nil},
		"cannot be limited": {probes.IsolationParams{Status: strong, Executes: true, WorkDir: "/w", Memory: 1 << 30,
			Unlimited: errors.New("no group")}, []string{"warning --run-memory is set: no group"}},
		"need not be limited": {probes.IsolationParams{Status: strong, Executes: true, WorkDir: "/w",
			Unlimited: errors.New("no group")}, []string{"info not limited: no group"}},
		"overlap": {probes.IsolationParams{Status: overlapping, Executes: true, WorkDir: "/w"}, []string{"warning " +
			"overlap", "info memory"}},
	} {
		if c.p.Accounts == nil {
			c.p.Accounts = accounts(1)
		}
		check, err := probes.NewIsolation(c.p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := check.Examine(t.Context())
		if err != nil || len(got.Findings) != len(c.want) {
			t.Errorf("%s: %+v %v", name, got.Findings, err)
			continue
		}
		for i, f := range got.Findings {
			severity, part, _ := strings.Cut(c.want[i], " ")
			if f.Severity != system.Severity(severity) || !strings.Contains(f.Problem, part) || f.Fix == "" {
				t.Errorf("%s: %+v, want %s", name, f, c.want[i])
			}
		}
	}
	if _, err := probes.NewIsolation(probes.IsolationParams{}); err == nil {
		t.Error("a check without accounts is made")
	}
}
