package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// The people of the demo.
const (
	ada  = "ada.reyes"
	mara = "mara.lind"
	ines = "ines.duarte"
	tom  = "tomas.ek"
)

func (s *Seeder) makeAccounts(ctx context.Context) error {
	if _, err := s.p.Bootstrap.EnsureAdmin(ctx, false); err != nil {
		return err
	}
	admin, err := s.p.Accounts.ByName(ctx, "admin")
	if err != nil {
		return err
	}
	s.accounts["admin"] = admin
	return s.unit(s.as(ctx, "admin"), func(ctx context.Context) error {
		for _, p := range []struct {
			name, full, title string
			role              identity.Role
		}{
			{ada, "Ada Reyes", "Platform lead", identity.Admin}, {mara, "Mara Lind", "Operations", identity.Operator},
			{ines, "Ines Duarte", "Operations", identity.Admin}, {tom, "Tomas Ek", "Developer", identity.Viewer},
		} {
			a, err := s.p.Accounts.Create(ctx, identity.NewAccount{Username: p.name, Role: p.role,
				Profile: identity.Profile{FullName: p.full, Title: p.title, Email: p.name + "@example.com"}})
			if err != nil {
				return err
			}
			s.accounts[p.name] = a
		}
		return s.makeGroups(ctx)
	})
}

func (s *Seeder) makeGroups(ctx context.Context) error {
	for _, g := range []struct {
		name    string
		members []string
	}{{"operations", []string{mara, ines}}, {"developers", []string{tom}}, {"approvers", []string{ada, ines}}} {
		t, err := s.p.Teams.Create(ctx, g.name)
		if err != nil {
			return err
		}
		s.teams[g.name] = t.ID
		for _, m := range g.members {
			if _, err := s.p.Teams.AddMember(ctx, t.ID, s.accounts[m].ID); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"Platform", "Shop"} {
		o, err := s.p.Orgs.Create(ctx, name)
		if err != nil {
			return err
		}
		s.orgs[name] = o.ID
		if _, err := s.p.Orgs.PutMember(ctx, o.ID, s.accounts[ada].ID, identity.OrgAdmin); err != nil {
			return err
		}
		if _, err := s.p.Orgs.PutMember(ctx, o.ID, s.accounts[mara].ID, identity.OrgMember); err != nil {
			return err
		}
	}
	return nil
}

// makeProject makes the project. Its commit is known, so that it is fetched after the start, which that would delay.
func (s *Seeder) makeProject(ctx context.Context) error {
	if s.Repository == "" {
		return nil
	}
	commit, err := os.ReadFile(filepath.Join(s.Repository, ".git", "refs", "heads", "main"))
	if err != nil {
		return err
	}
	p, err := s.p.Projects.Create(s.as(ctx, ada), catalog.Project{
		Record:  object.Record{Name: "site", Org: s.orgs["Platform"]},
		RepoURL: "file://" + s.Repository, Branch: "main"})
	if err != nil {
		return err
	}
	s.project = p.ID
	s.pins.put(p.ID, strings.TrimSpace(string(commit)))
	return nil
}

func (s *Seeder) makeCatalog(ctx context.Context) error {
	return s.unit(s.as(ctx, ada), func(ctx context.Context) error {
		if err := s.makeInventories(ctx); err != nil {
			return err
		}
		deploy, _, err := s.p.Credentials.Create(ctx, secrets.Change{
			Credential: secrets.Credential{Record: object.Record{Name: "registry of releases", Org: s.orgs["Shop"]},
				Kind: secrets.Token},
			Secret: secrets.Values{"token": secret.Text("no-secret-of-the-demo")}})
		if err != nil {
			return err
		}
		_, _, err = s.p.Credentials.Create(ctx, secrets.Change{
			Credential: secrets.Credential{Record: object.Record{Name: "vault of the site", Org: s.orgs["Platform"]},
				Kind: secrets.VaultPassword},
			Secret: secrets.Values{"password": secret.Text("no-secret-of-the-demo")}})
		if err != nil {
			return err
		}
		for _, t := range s.presets(deploy.ID) {
			made, err := s.p.Templates.Create(ctx, t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			s.templates[t.Name] = made
		}
		_, _, err = s.p.Grants.Create(ctx, identity.TeamSubject(s.teams["developers"]), s.templates["Deploy api"].ID,
			access.Use)
		if err != nil {
			return err
		}
		return s.makeTimes(ctx)
	})
}

func (s *Seeder) makeInventories(ctx context.Context) error {
	for _, i := range []struct {
		name  string
		hosts []string
	}{
		{"production", s.fleet}, {"delivery network", network()},
		{"staging", []string{"web-eu-9001", "api-eu-9001", "db-eu-9001"}},
	} {
		made, err := s.p.Inventories.Create(ctx, catalog.Inventory{
			Record: object.Record{Name: i.name, Org: s.orgs["Platform"]}, Content: inventory(i.hosts), Format: catalog.INI})
		if err != nil {
			return err
		}
		s.inventory[i.name] = made.ID
	}
	return nil
}

// presets are the templates. The address of the notifications leads nowhere, and the demo sends none.
func (s *Seeder) presets(deploy string) []catalog.Template {
	notify := []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/services/demo", OnFailure: true}}
	record := func(name, org string) object.Record { return object.Record{Name: name, Org: s.orgs[org]} }
	on := func(name, playbook, limit string, more func(*catalog.TemplateSpec)) catalog.Template {
		t := catalog.Template{Record: record(name, "Platform"), TemplateSpec: catalog.TemplateSpec{
			Tool: runs.Ansible, Playbook: playbook, InventoryID: s.inventory["production"], ProjectID: s.project,
			Controls: runs.Controls{Limit: limit, Forks: 20}, Labels: map[string]string{"env": "production"},
			AllowOverrides: []string{"limit", "dry_run", "change", "labels"}}}
		if more != nil {
			more(&t.TemplateSpec)
		}
		return t
	}
	script := func(name, tool, command string) catalog.Template {
		return catalog.Template{Record: record(name, "Platform"), TemplateSpec: catalog.TemplateSpec{
			Tool: tool, Command: command, AllowOverrides: []string{"change"}}}
	}
	return []catalog.Template{
		on("Patch web servers", "patch.yml", "web*", func(t *catalog.TemplateSpec) { t.Notifications = notify }),
		on("Deploy api", "api.yml", "api*", func(t *catalog.TemplateSpec) {
			t.Survey, t.CredentialIDs = survey(), []string{deploy}
			t.AllowOverrides = append(t.AllowOverrides, "extra_vars")
		}),
		on("Baseline, dry run", "baseline.yml", "", func(t *catalog.TemplateSpec) { t.DryRun, t.DiffMode = true, true }),
		on("Rotate certificates", "certs.yml", "edge*", nil),
		on("Sync users", "users.yml", "db*", nil), on("Gather facts", "facts.yml", "", nil),
		on("Database failover drill", "drill.yml", "db-eu*", nil),
		on("Open firewall for metrics", "firewall.yml", "", nil),
		on("Flush edge cache", "flush.yml", "edge*", func(t *catalog.TemplateSpec) { t.Queue = "dmz" }),
		script("Collect disk report", "bash", "df -h | sort -k5"),
		script("Restore staging", "python", "import restore; restore.latest('staging')"),
		script("Reindex search", "go", "package main\n\nfunc main() { println(\"reindex\") }"),
		script("Clean images", "bash", "docker image prune -af"),
		{Record: record("Release shop", "Shop"), TemplateSpec: catalog.TemplateSpec{
			InventoryID: s.inventory["production"], ProjectID: s.project, Steps: releaseSteps(),
			AllowOverrides: []string{"change"}}},
	}
}

func survey() json.RawMessage {
	return json.RawMessage(`[{"var":"release","type":"text","label":"Release","required":true,` +
		`"pattern":"[0-9]+\\.[0-9]+\\.[0-9]+","default":"4.12.0"},` +
		`{"var":"canary","type":"bool","label":"Canary first","default":true},` +
		`{"var":"strategy","type":"choice","label":"Strategy","choices":["rolling","all at once"],"default":"rolling"}]`)
}

// releaseSteps are the steps of the workflow.
func releaseSteps() []runs.StepSpec {
	return []runs.StepSpec{
		{Name: "check", Tool: "bash", Command: "make check"},
		{Name: "build", Tool: "bash", Command: "make release", DependsOn: []string{"check"}},
		{Name: "warm cache", Tool: "python", Command: "import warm; warm.all()", DependsOn: []string{"build"},
			ContinueOnFailure: true},
		{Name: "report", Tool: "bash", Command: "echo the cache is cold", DependsOn: []string{"warm cache"},
			On: runs.OnFailure},
		{Name: "undo build", Tool: "bash", Command: "make clean", DependsOn: []string{"build"}, On: runs.OnFailure},
		{Name: "deploy ap", Playbook: "api.yml", Limit: "api-ap*", DependsOn: []string{"build"}, RequireApproval: true},
		{Name: "deploy eu", Playbook: "api.yml", Limit: "api-eu*", DependsOn: []string{"build"}},
		{Name: "deploy us", Playbook: "api.yml", Limit: "api-us*", DependsOn: []string{"deploy eu"}},
		{Name: "smoke test", Tool: "bash", Command: "make smoke", DependsOn: []string{"deploy us", "deploy ap"}},
	}
}

// makeTimes makes what launches templates.
func (s *Seeder) makeTimes(ctx context.Context) error {
	cron := func(at time.Duration, days string) string {
		t := s.now.Add(at - History)
		if days == "" {
			days = fmt.Sprint(int(t.Weekday()))
		}
		return fmt.Sprintf("%d %d * * %s", t.Minute(), t.Hour(), days)
	}
	for _, x := range []struct{ name, cron, template string }{
		{"Disk report, daily", cron(diskAt, "*"), "Collect disk report"},
		{"Baseline, weekly", cron(baselineAt, ""), "Baseline, dry run"},
		{"Patch, weekly", cron(patchAt, ""), "Patch web servers"},
		{"Users, weekly", cron(usersAt, ""), "Sync users"},
	} {
		made, err := s.p.Schedules.Create(ctx, scheduling.Schedule{
			Record: scheduling.Record{Record: object.Record{Name: x.name, Org: s.orgs["Platform"]}}, Cron: x.cron,
			Timezone: "UTC", Enabled: true, Target: scheduling.Target{TemplateID: s.templates[x.template].ID}})
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		s.schedules[x.template] = made
	}
	var err error
	s.trigger, err = s.p.Triggers.Create(ctx, scheduling.Trigger{
		Record:     scheduling.Record{Record: object.Record{Name: "push to main", Org: s.orgs["Shop"]}},
		TemplateID: s.templates["Deploy api"].ID, Branch: "main", RequireSignature: true})
	return err
}

// makeRules makes the policies and windows. They are committed before the first request, which they hold.
func (s *Seeder) makeRules(ctx context.Context) error {
	return s.unit(s.as(ctx, ada), func(ctx context.Context) error {
		for _, p := range []policy.Policy{
			{Record: object.Record{Name: "Second person for certificates"}, Effect: policy.RequireApproval, Enabled: true,
				Match: policy.Match{Playbook: "certs.yml"}, ExcludeDryRun: true, DistinctApprover: true, ApprovalsNeeded: 1,
				Message: "Another person looks at changes of certificates."},
			{Record: object.Record{Name: "Two for databases and firewalls"}, Effect: policy.RequireApproval, Enabled: true,
				Match: policy.Match{TemplateIDs: []string{s.templates["Database failover drill"].ID,
					s.templates["Open firewall for metrics"].ID}}, ExcludeDryRun: true, ApprovalsNeeded: 2,
				ApproverTeams: []string{s.teams["approvers"]}, Message: "The approvers decide."},
			{Record: object.Record{Name: "No erased disks"}, Effect: policy.Deny, Enabled: true,
				Match: policy.Match{Tools: []string{"bash", "python"}}, RiskAtLeast: runs.CriticalRisk,
				Message: "Commands that destroy data are refused."},
			{Record: object.Record{Name: "High risk needs a change"}, Effect: policy.Deny, Enabled: false,
				RiskAtLeast: runs.HighRisk, Match: policy.Match{ChangeMissing: true}},
		} {
			if _, err := s.p.Policies.Create(ctx, p); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		for _, w := range []policy.Window{
			{Record: object.Record{Name: "Year-end freeze"}, Mode: policy.DenyWindow, Enabled: true,
				Match: policy.Match{Playbook: "patch.yml"}, From: fmt.Sprintf("%d-12-20T00:00", s.now.Year()),
				To: fmt.Sprintf("%d-01-03T00:00", s.now.Year()+1), Timezone: "UTC", Outside: policy.OutsideWait},
			{Record: object.Record{Name: "Drills on weekdays"}, Mode: policy.AllowWindow, Enabled: false,
				Match: policy.Match{Playbook: "drill.yml"}, Cron: "0 8 * * 1-5", Duration: 9 * 3600, Timezone: "UTC",
				Outside: policy.OutsideWait},
		} {
			if _, err := s.p.Windows.Create(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", w.Name, err)
			}
		}
		return nil
	})
}
