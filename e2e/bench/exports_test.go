package bench

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// export makes bodies of a format and does the least that reading one needs.
type export struct {
	name, format, query string
	// body returns a body of at most so many bytes.
	body func(b *testing.B, size int) []byte
	// least reads all values of a body with the library of the notation.
	least func(body []byte) error
}

func exports() []export {
	const jobs = "?inventory=web"
	return []export{
		{"awx JSON", "awx", "", awxJSON, leastJSON}, {"awx YAML", "awx", "", awxYAML, leastYAML},
		{"rundeck XML", "rundeck", jobs, rundeckXML, leastXML}, {"jenkins zip", "jenkins", jobs, jenkinsZip, leastZip},
		{"semaphore", "semaphore", "", semaphoreJSON, leastJSON}, {"puppet", "puppet", "", puppetJSON, leastJSON},
		{"chef", "chef", "", chefJSON, leastJSON},
	}
}

// filled returns texts of one, numbered from 0, with a separator and at most size bytes in all.
func filled(size int, one func(i int) string) []string {
	var out []string
	for i := 0; ; i++ {
		text := one(i)
		if size -= len(text) + 1; size < 0 {
			return out
		}
		out = append(out, text)
	}
}

// awxJSON has projects, inventories with 900 hosts, and job templates with a survey and a schedule.
func awxJSON(_ *testing.B, size int) []byte {
	var inventories, projects, templates []string
	filled(size-100, func(i int) string {
		key := fmt.Sprintf(`"name": "unit %d", "organization": {"name": "Default", "type": "organization"}`, i)
		hosts := make([]string, 900)
		for k := range hosts {
			hosts[k] = fmt.Sprintf(`{"name": "h%d-%d.example.com", "description": "", "enabled": true,
				"variables": "ansible_host: 192.0.2.%d\n", "natural_key": {"name": "h%[1]d-%[2]d.example.com",
				"inventory": {%[4]s, "type": "inventory"}, "type": "host"}}`, i, k, k%250, key)
		}
		inventories = append(inventories, fmt.Sprintf(`{%s, "kind": "", "variables": "env: prod\n", "natural_key": {%[1]s,
			"type": "inventory"}, "related": {"hosts": [%s]}}`, key, strings.Join(hosts, ",")))
		projects = append(projects, fmt.Sprintf(`{%s, "scm_type": "git", "scm_url": "https://git.example.com/p%d.git",
			"natural_key": {%[1]s, "type": "project"}}`, key, i))
		templates = append(templates, fmt.Sprintf(`{%s, "playbook": "site.yml", "inventory": {%[1]s, "type": "inventory"},
			"project": {%[1]s, "type": "project"}, "extra_vars": "version: 1.2\n", "timeout": 600, "survey_enabled": true,
			"natural_key": {%[1]s, "type": "job_template"}, "related": {"survey_spec": {"spec": [{"variable": "v",
			"question_name": "Version", "type": "text", "required": true, "default": "x", "max": 1024}]},
			"schedules": [{"name": "nightly %d", "enabled": true,
			"rrule": "DTSTART;TZID=Europe/Berlin:20240101T0230%02d RRULE:FREQ=DAILY;INTERVAL=1"}]}}`, key, i, i%60))
		return inventories[i] + projects[i] + templates[i] + ",,"
	})
	n := len(inventories) - 1 // the last one is too much
	return fmt.Appendf(nil, `{"inventory": [%s], "projects": [%s], "job_templates": [%s]}`,
		strings.Join(inventories[:n], ","), strings.Join(projects[:n], ","), strings.Join(templates[:n], ","))
}

// awxYAML has projects, and job templates with variables of 170 KB: a body with more values in a byte is refused.
func awxYAML(_ *testing.B, size int) []byte {
	var projects, templates strings.Builder
	variables := strings.Repeat("        - a line of the variables of a template\n", 3600)
	filled(size-100, func(i int) string {
		project := fmt.Sprintf("- name: unit %d\n  scm_type: git\n  scm_url: https://git.example.com/p%d.git\n", i, i)
		template := fmt.Sprintf("- name: unit %d\n  playbook: site.yml\n  project: {type: project, name: unit %d}\n"+
			"  extra_vars: |\n      lines:\n%s  related:\n    schedules:\n    - name: nightly %d\n      enabled: true\n"+
			"      rrule: DTSTART;TZID=Europe/Berlin:20240101T023000 RRULE:FREQ=DAILY;INTERVAL=1\n", i, i, variables, i)
		if text := project + template; projects.Len()+templates.Len()+len(text) < size-100 {
			projects.WriteString(project)
			templates.WriteString(template)
		}
		return project + template
	})
	return []byte("projects:\n" + projects.String() + "job_templates:\n" + templates.String())
}

// rundeckXML has jobs of two steps with options, a schedule and a notification.
func rundeckXML(_ *testing.B, size int) []byte {
	lines := strings.Repeat("echo a line of the script of a job >> /var/log/job.log\n", 2400)
	return []byte("<joblist>" + strings.Join(filled(size-100, func(i int) string {
		return fmt.Sprintf(`<job><id>%08x-1111-4111-8111-111111111111</id><uuid>%[1]08x-1111-4111-8111-111111111111</uuid>
<name>job %[1]d</name><group>team/%d</group><description>Deploys a part.</description><loglevel>INFO</loglevel>
<executionEnabled>true</executionEnabled><scheduleEnabled>true</scheduleEnabled><schedule>
<time hour='02' minute='%d' seconds='0'/><weekday day='2-6'/><month month='*'/><year year='*'/></schedule><timeZone>Europe/Berlin</timeZone>
<context><options><option name='version' required='true' value='1.2'/></options></context>
<notification><onfailure><email recipients='ops@example.com'/></onfailure></notification>
<sequence keepgoing='false' strategy='node-first'><command><script><![CDATA[%s]]></script></command>
<command><exec>systemctl status shop</exec></command></sequence></job>`, i, i%40, i%60, lines)
	}), "\n") + "</joblist>")
}

// jenkinsZip has freestyle projects with a parameter, a repository, a timer and a script.
func jenkinsZip(b *testing.B, size int) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	lines := strings.Repeat("echo a line of the script of a job >> build.log\n", 2700)
	filled(size-100, func(i int) string {
		text := fmt.Sprintf(`<?xml version='1.1' encoding='UTF-8'?>
<project><description>Builds a part.</description><properties><hudson.model.ParametersDefinitionProperty>
<parameterDefinitions><hudson.model.StringParameterDefinition><name>VERSION</name><defaultValue>1.2</defaultValue>
</hudson.model.StringParameterDefinition></parameterDefinitions></hudson.model.ParametersDefinitionProperty></properties>
<scm class="hudson.plugins.git.GitSCM"><userRemoteConfigs><hudson.plugins.git.UserRemoteConfig>
<url>https://git.example.com/p%d.git</url></hudson.plugins.git.UserRemoteConfig></userRemoteConfigs><branches>
<hudson.plugins.git.BranchSpec><name>*/main</name></hudson.plugins.git.BranchSpec></branches></scm>
<canRoam>true</canRoam>
<triggers><hudson.triggers.TimerTrigger><spec>H %d * * *</spec></hudson.triggers.TimerTrigger></triggers>
<builders><hudson.tasks.Shell><command>%s</command></hudson.tasks.Shell></builders></project>`, i%50, i%24, lines)
		name := fmt.Sprintf("jobs/job-%d/config.xml", i)
		if out.Len()+len(text)+200*(i+1) < size-10_000 {
			f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
			must(b, err)
			_, err = io.WriteString(f, text)
			must(b, err)
			must(b, w.Flush())
		}
		return text + strings.Repeat(" ", 200)
	})
	must(b, w.Close())
	return out.Bytes()
}

// semaphoreJSON has templates with a survey and a description, and a schedule of each.
func semaphoreJSON(_ *testing.B, size int) []byte {
	var schedules []string
	text := strings.Repeat("What this template does is told here. ", 2700)
	templates := filled(size-1000, func(i int) string {
		schedules = append(schedules, fmt.Sprintf(`{"name": "nightly %d", "cron_format": "%d 2 * * *", "active": true,
			"template": "template %[1]d"}`, i, i%60))
		template := fmt.Sprintf(`{"name": "template %d", "app": "ansible", "playbook": "deploy.yml", "repository": "site",
			"inventory": "servers", "environment": "common", "arguments": "[\"--limit\", \"web\"]", "description": %q,
			"survey_vars": [{"name": "version", "title": "Version", "type": ""}]}`, i, text)
		return template + schedules[i] + ",,"
	})
	for i := range templates {
		templates[i] = strings.TrimSuffix(templates[i], schedules[i]+",,")
	}
	return fmt.Appendf(nil, `{"meta": {"name": "Shop"}, "keys": [{"name": "deploy", "type": "ssh"}], "repositories":
		[{"name": "site", "git_url": "https://git.example.com/site.git", "git_branch": "main", "ssh_key": "deploy"}],
		"inventories": [{"name": "servers", "type": "static", "inventory": "[web]\nw1\n", "ssh_key": "deploy"}],
		"environments": [{"name": "common", "json": "{\"region\": \"north\"}"}], "templates": [%s], "schedules": [%s]}`,
		strings.Join(templates, ","), strings.Join(schedules[:len(templates)], ","))
}

// puppetJSON is an answer of the inventory of PuppetDB, with some 3 KB of facts of each node.
func puppetJSON(_ *testing.B, size int) []byte {
	return []byte("[" + strings.Join(filled(size-100, func(i int) string {
		return fmt.Sprintf(`{"certname": "web%d.example.org", "timestamp": "2026-05-01T00:00:00Z",
			"environment": "production", "facts": {"networking": {"ip": "192.0.2.%d", "fqdn": "web%[1]d.example.org", "interfaces": {%[3]s}},
			"os": {"family": "Debian", "name": "Debian", "release": {"full": "12.5", "major": "12"}}, "kernel": "Linux"},
			"trusted": {"extensions": {"pp_role": "web"}}}`, i, i%250, interfaces())
	}), ",") + "]")
}

// chefJSON is a list of nodes in their long form, with some 3 KB of attributes of each.
func chefJSON(_ *testing.B, size int) []byte {
	return []byte("[" + strings.Join(filled(size-100, func(i int) string {
		return fmt.Sprintf(`{"name": "web%d", "chef_environment": "production",
			"run_list": ["role[web]", "recipe[shop::app]"], "normal": {"tags": ["prod"]}, "automatic": {"fqdn": "web%[1]d.example.org", "ipaddress": "192.0.2.%d",
			"platform": "debian", "platform_version": "12", "network": {"interfaces": {%s}}},
			"json_class": "Chef::Node", "chef_type": "node"}`, i, i%250, interfaces())
	}), ",") + "]")
}

func interfaces() string {
	list := make([]string, 20)
	for k := range list {
		list[k] = fmt.Sprintf(`"eth%d": {"mac": "00:00:5e:00:53:%02d", "mtu": 1500, "ip": "198.51.100.%d", "flags": ["UP",
			"RUNNING"], "netmask": "255.255.255.0"}`, k, k, k)
	}
	return strings.Join(list, ",")
}

func leastJSON(body []byte) error {
	var v any
	return json.Unmarshal(body, &v)
}

func leastYAML(body []byte) error {
	var n yaml.Node
	return yaml.Unmarshal(body, &n)
}

func leastXML(body []byte) error {
	d := xml.NewDecoder(bytes.NewReader(bytes.Replace(body, []byte("version='1.1'"), []byte("version='1.0'"), 1)))
	for {
		if _, err := d.RawToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func leastZip(body []byte) error {
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(in)
		if err == nil {
			err = leastXML(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
