package importers_test

import (
	"testing"

	"github.com/writ-automation/writ/adapters/importers/awx"
	"github.com/writ-automation/writ/adapters/importers/chef"
	"github.com/writ-automation/writ/adapters/importers/cron"
	"github.com/writ-automation/writ/adapters/importers/jenkins"
	"github.com/writ-automation/writ/adapters/importers/puppet"
	"github.com/writ-automation/writ/adapters/importers/rundeck"
	"github.com/writ-automation/writ/adapters/importers/semaphore"
	"github.com/writ-automation/writ/ports/importer"
)

// guides returns the guides under the ends of their names.
func guides(t *testing.T) map[string]guide {
	t.Helper()
	exports := func(list ...importer.Export) []importer.Export { return list }
	return map[string]guide{
		"awx": {awx.New(), exports(file(t, "awx", "testdata", "export.yml"), file(t, "testdata", "awx.json")),
			awxRows()},
		"semaphore": {semaphore.New(), exports(file(t, "semaphore", "testdata", "backup.json")), semaphoreRows()},
		"rundeck":   {rundeck.New(), exports(folder(t, "testdata", "rundeck")), rundeckRows()},
		"jenkins":   {jenkins.New(), exports(folder(t, "testdata", "jenkins")), jenkinsRows()},
		"puppet": {puppet.New(), exports(file(t, "testdata", "puppet.json"), file(t, "testdata", "site.pp")),
			puppetRows()},
		"chef": {chef.New(), exports(file(t, "testdata", "chef.json")), chefRows()},
		"cron": {cron.New(), exports(file(t, "testdata", "crontab")), cronRows()},
	}
}

func awxRows() map[string][]string {
	return map[string][]string{
		"project with git": {`project Site: "repo_url":"https://git.example.com/site.git"`},
		"inventory with hosts and groups": {
			`inventory Fleet: web2`, "inventory Fleet: became the content, in JSON",
		},
		"inventory source from a project; cloud sources": {
			`inventory_source From files: "kind":"project","path":"hosts/prod.yml"`,
			`inventory_source From the cloud: "plugin":"amazon.aws.aws_ec2"`,
			"inventory_source A second one: class no_home",
		},
		"smart and constructed inventory": {"inventory Odd ones: class no_home"},
		"job template, survey": {
			`template Deploy: "playbook":"site.yml"`,
			`template Deploy: "survey":[{"var":"stage"`,
		},
		"job slices, job type check, allow simultaneous": {
			`template Deploy: "shards":4`, `template Check: "dry_run":true`, `template Deploy: "max_concurrent":0`,
		},
		"workflow template": {
			`template Release: {"name":"Check","depends_on":["Deploy"],"template":"Check for Release"}`,
			`template Release: "on":"failure"`,
		},
		"convergence `any`, nested workflows": {
			"template Any: and not after one of them",
			`workflow_job_template Outer: The workflow "Any" cannot be a step`,
		},
		"approval node": {`template Release: "require_approval":true`},
		"schedule with a recurrence rule": {
			`schedule Nightly: "cron":"30 2 * * *","timezone":"Europe/Berlin"`,
			"schedule Second Tuesday: class no_home",
		},
		"schedule or node with a limit or variables": {
			`template Deploy for Staging: "limit":"staging"`, `template Deploy for Release: "limit":"eu"`,
		},
		"credential, credential type": {
			"credential Root: The secret", `credential_type Ticket desk: "name":"desk_token"`,
		},
		"notification template": {
			`template Deploy: "notifications":[{"kind":"mattermost"`, "notification_template Room: class no_home",
		},
		"users, teams, roles, organizations, labels of inventories": {
			"user ada: class no_home", "team Web: class no_home", "organization Ops: class no_home",
		},
		"execution environments, applications, instance groups": {
			"execution_environment Standard: class no_home", "application Portal: class no_home",
			"member instance_groups: class no_home",
		},
	}
}

func semaphoreRows() map[string][]string {
	return map[string][]string{
		"repository": {
			`project playbooks: "repo_url":"git@git.example.com:shop/playbooks.git"`,
			"repository local: class no_home",
		},
		"inventory of the types static and static-yaml": {`inventory web: "format":"ini"`, `inventory tree: t1`},
		"inventory of the type file": {
			`inventory_source linked: "path":"hosts/all.ini"`, "inventory file file: class no_home",
			`template Night of shop: "inventory_path":"hosts/prod.ini"`,
		},
		"Terraform and Tofu workspace": {"inventory space: class no_home"},
		"environment: variables":       {`template Deploy shop: "region":"south"`},
		"environment: variables of the process": {
			`credential common: "kind":"env"`, `template Deploy shop: "credentials":["vault","common"]`,
		},
		"key": {`credential deploy: "kind":"ssh_key"`, "credential deploy: The secret has to be entered"},
		"template for Ansible": {
			`template Deploy shop: "playbook":"deploy.yml"`, `template Deploy shop: "limit":"web"`,
			`template Deploy shop: no counterpart of "--start-at-task"`,
		},
		"template for Bash, Python, PowerShell":            {"template Build: called by its path in the checkout"},
		"template for Terraform, Tofu, Terragrunt, Pulumi": {"template Infra: class no_home"},
		"build and deploy templates": {
			"template Deploy shop: make a template with both as steps",
		},
		"survey": {
			`template Deploy shop: "survey":[{"var":"version"`,
			"template Deploy shop: The choices show their values",
			"template Deploy shop: no question asks for a secret",
		},
		"parallel tasks": {
			`template Build: "max_concurrent":1`,
			`template Deploy shop: "max_concurrent":0`,
		},
		"schedule": {
			`schedule weekdays: "cron":"30 6 * * 1-5"`,
			"schedule weekdays: the clock of this server",
		},
		"views, integrations, runners, roles": {
			"view Main: class no_home",
			"integration push: class no_home",
		},
	}
}

func rundeckRows() map[string][]string {
	return map[string][]string{
		"job with one step": {`template site/deploy: is the template "site/deploy"`},
		"job with several steps": {
			`template flow: {"name":"Ps","tool":"powershell","command":"Write-Output 1","depends_on":["Py"]}`,
			"template beside: The steps run at the same time",
		},
		"command, script": {
			`template beside: "tool":"bash","command":"echo one"`, `template flow: "tool":"python"`,
			`template flow: "tool":"powershell"`,
		},
		"script from an address, file on nodes": {
			"template flow: put it into a project; a step that fails is in its place",
		},
		"reference to a job": {
			"template flow: replaced by the steps of that job", `template calls: "template":"plain"`,
		},
		"plugin step of Ansible": {`template flow: "playbook":"site.yml"`},
		"other plugin steps": {
			"template flow: the plugin some-other-step is not translated", "job plugin: class no_home",
		},
		"error handler": {`template flow: "command":"make clean","depends_on":["Build"],"on":"failure"`},
		"option": {
			`template site/deploy: "survey":[{"var":"version"`,
			`template site/deploy: deploy \"${WRIT_VAR_VERSION}\" $WRIT_VAR_VERSION`,
		},
		"secure option": {
			`credential keys/deploy: "kind":"token"`,
			`template site/deploy: "credentials":["keys/deploy"]`,
		},
		"node filter of names and tags": {
			`template site/deploy: "limit":"web1:web2:&prod"`, "template filtered: has no pattern",
		},
		"thread count, timeout, retry, multiple executions": {
			`template site/deploy: is 4 forks`,
			`template site/deploy: "timeout":1800`,
			`template site/deploy: "retries":2`,
			`template site/deploy: "max_concurrent":3`, `template beside: "when_busy":"skip"`,
		},
		"schedule of Quartz": {`schedule site/deploy: "cron":"30 2 * * 1-5"`, "schedule flow: class no_home"},
		"notification of a success or a failure by mail, webhook, or a plugin for a known chat": {
			`template site/deploy: {"kind":"email","to":"ops@example.com","on_failure":true}`,
			`template site/deploy: {"kind":"webhook"`, `template beside: {"kind":"slack"`,
		},
		"access control, webhooks, calendars, key storage": {
			"access policy ops.aclpolicy: class no_home", "webhook push: class no_home",
			"calendar holidays: class no_home",
		},
	}
}

func jenkinsRows() map[string][]string {
	return map[string][]string{
		"freestyle project, folder": {`template tools/nightly: "tool":"bash"`},
		"several build steps": {
			`template several: "steps":[{"name":"Shell"`,
			"template several: in a directory of its own",
		},
		"shell, PowerShell, Python": {
			`template several: "command":"set -xe\nmake"`, `template several: {"name":"Python","tool":"python"`,
			`template several: {"name":"PowerShell","tool":"powershell"`,
		},
		"batch file": {
			`template several: {"name":"Batch","tool":"powershell"`,
			"template several: choose the queue of a worker there",
		},
		"build step of Ansible": {`template several: "playbook":"site.yml"`},
		"Maven, Gradle, Ant": {
			`template several: mvn package`,
			"template several: has to be installed on the executor",
		},
		"other build steps": {"template several: its step fails until you replace it"},
		"parameters": {
			`template tools/nightly: "survey":[{"var":"SHARD"`,
			`credential tools/nightly DB: "kind":"token"`,
		},
		"git repository and branch": {
			`project site: "repo_url":"https://git.example.com/site.git","branch":"main"`,
		},
		"build periodically": {
			`schedule tools/nightly: "timezone":"UTC"`, `schedule tools/nightly (2): "cron":"0 5 * * 6"`,
		},
		"`H` in a schedule": {"schedule tools/nightly: chooses the times for H by the name of the job"},
		"poll SCM, pushes": {
			"template tools/nightly: let a trigger of the template start it on a push",
		},
		"upstream and downstream jobs": {
			`template first and the jobs after it: {"name":"second","depends_on":["first"],"on":"success"`,
		},
		"no concurrent builds; throttling": {
			`template several: "max_concurrent":1`, `template tools/nightly: "max_concurrent":2`,
		},
		"matrix with literal axes": {`template matrix: {"name":"Shell x86"`},
		"pipeline": {
			`template pipe: "survey":[{"var":"WHO"`,
			`schedule pipe2: "cron":"0 1 * * *"`,
			"project pipes: repo_url",
			"template pipe: has to be rewritten: its stages are Build",
		},
		"mail, Mattermost, Discord, Teams, webhooks": {
			`template tools/nightly: {"kind":"email"`,
			`template second: {"kind":"webhook"`,
		},
		"Slack": {
			"template tools/nightly: incoming webhook, which the job does not have",
		},
		"label of nodes": {`template tools/nightly: "queue":"linux"`},
		"archived files, test reports, plugins": {
			"template tools/nightly: ArtifactArchiver has no counterpart",
			"template tools/nightly: JUnitResultArchiver has no counterpart",
		},
	}
}

func puppetRows() map[string][]string {
	const fleet = "inventory Puppet fleet: "
	return map[string][]string{
		"node":                         {fleet + "web1.example.org:\\n"},
		"`networking.ip`, `ipaddress`": {fleet + "ansible_host: 192.0.2.1", fleet + "ansible_host: 192.0.2.2"},
		"environment, family of the system, roles": {
			fleet + "env_production", fleet + "os_Debian", fleet + "role_web", fleet + "profile_db",
		},
		"Windows":                             {fleet + "ansible_connection: winrm"},
		"node that is deactivated or expired": {"node old.example.org: class no_home"},
		"node statement with a pattern":       {`node pattern /^db\d+$/: class no_home`},
		"other facts":                         {fleet + "Of the facts of a node, only"},
	}
}

func chefRows() map[string][]string {
	const fleet = "inventory Chef fleet: "
	return map[string][]string{
		"node":                {fleet + "web1:\\n"},
		"`ipaddress`, `fqdn`": {fleet + "ansible_host: 192.0.2.1", fleet + "ansible_host: win1.example.org"},
		"environment, platform, policy": {
			fleet + "env_production", fleet + "platform_debian", fleet + "policy_site", fleet + "policy_group_eu",
		},
		"roles and recipes of the run list, tags": {
			fleet + "role_web",
			fleet + "recipe_nginx_server",
			fleet + "tag_canary",
		},
		"Windows":                   {fleet + "ansible_connection: winrm"},
		"data of more than 30 days": {fleet + "The data of 1 node is older than 30 days"},
		"other attributes":          {fleet + "Of the attributes of a node, only"},
	}
}

func cronRows() map[string][]string {
	return map[string][]string{
		"job": {
			`template tidy: "tool":"bash"`,
			`schedule tidy: "template":"tidy"`,
		},
		"comment above a job": {`template Rotate the caches: $SITE/bin/rotate`},
		"variables":           {`template tidy: export SITE='/srv/site'`},
		"`CRON_TZ`, `TZ`":     {`schedule tidy: "timezone":"Europe/Berlin"`},
		"`HOME`, `SHELL`": {
			"template tidy: The script starts in HOME",
			"template print: exec '/bin/zsh'",
		},
		"`MAILTO`":                             {`template tidy: {"kind":"email","to":"ops@example.org"`},
		"`%` and what follows":                 {`template load: first line\nsecond line\nEND_OF_INPUT`},
		"`@hourly`, `@daily` and so on":        {`schedule tidy: "cron":"0 0 * * *"`},
		"`@reboot`, an interval such as `@60`": {"schedule warm: class no_home", "schedule poll: class no_home"},
		"`L`, `W`, `#`, `~`":                   {"schedule month: class no_home"},
		"redirection to a file": {
			"template report: >> report.log",
			"template report: the log of a run lacks it",
		},
		"root's job": {
			`template backup: "isolation_profile":"host"`,
			"template backup: class needs_you",
		},
	}
}
