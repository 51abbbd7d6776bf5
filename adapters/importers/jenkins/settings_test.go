package jenkins_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/importer"
)

func parameters(list string) string {
	return "<properties><hudson.model.ParametersDefinitionProperty><parameterDefinitions>" + list +
		"</parameterDefinitions></hudson.model.ParametersDefinitionProperty></properties>"
}

func parameter(kind, name, members string) string {
	return "<x." + kind + "ParameterDefinition><name>" + name + "</name>" + members + "</x." + kind +
		"ParameterDefinition>"
}

func TestParameters(t *testing.T) {
	choices := "<choices class='java.util.Arrays$ArrayList'><a class='string-array'><string>b</string><string>a</string>" +
		"<string>b</string></a></choices>"
	list := parameter("String", "HOST", "<defaultValue>web1</defaultValue><description>Which host</description>"+
		"<trim>true</trim>") +
		parameter("Text", "NOTE", "<defaultValue>a\nb</defaultValue>") + parameter("Boolean", "DRY",
		"<defaultValue>true</defaultValue>") +
		parameter("Choice", "TIER", choices) + parameter("String", "API_TOKEN", "<defaultValue>"+canary+"</defaultValue>") +
		parameter("Password", "DB", "<defaultValue>{"+canary+"}</defaultValue>") + parameter("File", "upload.bin", "") +
		parameter("String", "PATH", "") + parameter("String", "my-name", "<defaultValue>x</defaultValue>") +
		parameter("String", "host", "") + parameter("Git", "REF", "<defaultValue>main</defaultValue><branch>b</branch>") +
		parameter("ValidatingString", "VERSION", "<regex>[0-9]+</regex><defaultValue>v</defaultValue>") +
		parameter("ValidatingString", "LOOK", "<regex>(?=a)b</regex>") +
		parameter("ExtendedChoice", "ONE", "<type>PT_SINGLE_SELECT</type><value>x,y</value><defaultValue>y</defaultValue>") +
		parameter("ExtendedChoice", "FEW", "<type>PT_CHECKBOX</type><value>x,y</value>")
	spec, o, d := job(t, "<project>"+parameters(list)+shell("deploy $HOST")+"</project>")
	want := `[{"var":"HOST","type":"text","label":"HOST","help":"Which host","default":"web1"},` +
		`{"var":"NOTE","type":"multiline","label":"NOTE","default":"a\nb"},` +
		`{"var":"DRY","type":"bool","label":"DRY","default":true},` +
		`{"var":"TIER","type":"choice","label":"TIER","default":"b","choices":["b","a"]},` +
		`{"var":"API_TOKEN","type":"text","label":"API_TOKEN"},` +
		`{"var":"PARAM_PATH","type":"text","label":"PATH"},` +
		`{"var":"my_name","type":"text","label":"my-name","default":"x"},` +
		`{"var":"host_2","type":"text","label":"host"},` +
		`{"var":"REF","type":"text","label":"REF","default":"main"},` +
		`{"var":"VERSION","type":"text","label":"VERSION","pattern":"[0-9]+"},` +
		`{"var":"LOOK","type":"text","label":"LOOK"},` +
		`{"var":"ONE","type":"choice","label":"ONE","default":"y","choices":["x","y"]},` +
		`{"var":"FEW","type":"text","label":"FEW","help":"Several of: x,y"}]`
	if got, _ := json.Marshal(spec.Survey); string(got) != want {
		t.Errorf("survey %s", got)
	}
	wants(t, o, importer.NeedsYou, "may be a secret", "credential site DB", "upload.bin", "WRIT_VAR_PARAM_PATH",
		"became my_name",
		"it became host_2", "became a text", "does not match the pattern", "not RE2", "Several values", "occur twice")
	c := find(t, d, importer.Credential, "site DB").Spec.(*importer.CredentialSpec)
	if c.Kind != "token" || fmt.Sprint(c.Settings) != "map[env_name:DB]" || fmt.Sprint(spec.Credentials) != "[site DB]" {
		t.Errorf("the credential is %s", asJSON(c))
	}
	if !strings.HasPrefix(spec.Command, "export HOST=\"${WRIT_VAR_HOST-}\"\nexport NOTE=\"${WRIT_VAR_NOTE-}\"\n") ||
		strings.Contains(spec.Command, "export PATH") || strings.Contains(spec.Command, "my-name") ||
		!strings.HasSuffix(spec.Command, "\nset -xe\ndeploy $HOST") {
		t.Errorf("the script is %s", spec.Command)
	}
}

func TestScriptsFindParameters(t *testing.T) {
	list := parameters(parameter("String", "HOST", ""))
	for builder, want := range map[string]string{
		"<x.Python><command>go()</command></x.Python>": "import os\nos.environ['HOST'] = " +
			"os.environ.get('WRIT_VAR_HOST', '')\ngo()",
		"<x.PowerShell><command>Go</command></x.PowerShell>":               "$env:HOST = $env:WRIT_VAR_HOST\nGo",
		"<x.PowerShell><command>param($a)</command></x.PowerShell>":        "param($a)",
		"<x.Python><command>from __future__ import x</command></x.Python>": "from __future__ import x",
		"<x.Shell><command>#!/bin/sh\nparam=1; using it</command></x.Shell>": "export " +
			"HOST=\"${WRIT_VAR_HOST-}\"\nparam=1; using it",
	} {
		spec, o, _ := job(t, "<project>"+list+"<builders>"+builder+"</builders></project>")
		if spec.Command != want {
			t.Errorf("%s became %q", builder, spec.Command)
		}
		if !strings.Contains(want, "WRIT_VAR_HOST") {
			wants(t, o, importer.NeedsYou, "has to read the parameters")
		}
	}
}

func TestRepositories(t *testing.T) {
	scm := func(url, branch, more string) string {
		return "<project><scm class='hudson.plugins.git.GitSCM'><userRemoteConfigs><c><url>" + url + "</url>" + more +
			"</c></userRemoteConfigs><branches><b><name>" + branch + "</name></b></branches></scm>" + shell("a") + "</project>"
	}
	for _, c := range []struct{ url, branch, more, wantURL, wantBranch, credential string }{
		{"https://git.example.com/a/site.git", "*/main", "", "https://git.example.com/a/site.git", "main", ""},
		{"https://u:" + canary + "@git.example.com/site", "**", "", "https://git.example.com/site", "", ""},
		{"git@git.example.com:a/site.git", "refs/heads/x/y", "<credentialsId>k</credentialsId>",
			"git@git.example.com:a/site.git", "x/y", "ssh_key"},
		{"ssh://git:" + canary + "@h/site", "${BRANCH}", "", "ssh://git@h/site", "", ""},
		{"https://h/site.git", "", "<credentialsId>k</credentialsId>", "https://h/site.git", "", "token"},
		{"git://h/site", "origin/main", "", "git://h/site", "main", ""},
		{"${URL}", "main", "", "", "", ""}, {"/srv/site", "main", "", "", "", ""}, {"http://h/site", "main", "", "", "", ""},
		{"--upload-pack=x", "main", "", "", "", ""}, {"ext::sh -c x", "main", "", "", "", ""},
	} {
		spec, o, d := job(t, scm(c.url, c.branch, c.more))
		if c.wantURL == "" {
			wants(t, o, importer.NeedsYou, "choose a project")
			if spec.Project != "" {
				t.Errorf("%s became the project %s", c.url, spec.Project)
			}
			continue
		}
		p := find(t, d, importer.Project, "site").Spec.(*importer.ProjectSpec)
		if p.RepoURL != c.wantURL || p.Branch != c.wantBranch || (p.Credential != "") != (c.credential != "") {
			t.Errorf("%s became %+v", c.url, p)
		}
		if c.credential != "" {
			if got := find(t, d, importer.Credential, "k").Spec.(*importer.CredentialSpec); got.Kind != c.credential {
				t.Errorf("the credential of %s is %+v", c.url, got)
			}
		}
		if strings.Contains(c.url, canary) || strings.Contains(c.branch, "$") {
			wants(t, o, importer.NeedsYou)
		}
	}
	_, o, _ := job(t, "<project><scm class='hudson.scm.SubversionSCM'><locations/></scm></project>")
	wants(t, o, importer.NeedsYou, "SubversionSCM")
}

func TestSettings(t *testing.T) {
	spec, o, d := job(t, `<project><description>text</description><disabled>false</disabled><assignedNode>linux</assignedNode>
<jdk>JDK 8</jdk><authToken>`+canary+`</authToken><quietPeriod>5</quietPeriod><concurrentBuild>true</concurrentBuild>
<keepDependencies>false</keepDependencies><blockBuildWhenUpstreamBuilding>false</blockBuildWhenUpstreamBuilding>
<properties><x.ThrottleJobProperty><maxConcurrentTotal>3</maxConcurrentTotal><throttleEnabled>true</throttleEnabled>
</x.ThrottleJobProperty><x.BuildDiscarderProperty/><y.EnvInjectJobProperty><info><propertiesContent># c
TIER=prod
PASSWORD=`+canary+`
PATH=/x
</propertiesContent></info></y.EnvInjectJobProperty>
<x.HudsonNotificationProperty><endpoints><e><urlInfo><urlOrId>https://h/hook</urlOrId></urlInfo></e></endpoints>
</x.HudsonNotificationProperty></properties>
<publishers><hudson.tasks.Mailer><recipients>a@example.com b@example.com $OTHERS</recipients></hudson.tasks.Mailer>
<hudson.tasks.ArtifactArchiver><artifacts>x</artifacts></hudson.tasks.ArtifactArchiver>
<jenkins.plugins.slack.SlackNotifier><authToken>`+canary+`</authToken></jenkins.plugins.slack.SlackNotifier>
<x.MattermostNotifier><endpoint>https://mm/hooks/1</endpoint></x.MattermostNotifier></publishers>
<buildWrappers><x.BuildTimeoutWrapper><strategy class="y.AbsoluteTimeOutStrategy"><timeoutMinutes>15</timeoutMinutes></strategy>
</x.BuildTimeoutWrapper><x.TimestamperBuildWrapper/><x.SecretBuildWrapper><bindings><y.StringBinding>
<credentialsId>api</credentialsId><variable>API</variable></y.StringBinding><y.UsernamePasswordMultiBinding>
<credentialsId>login</credentialsId><usernameVariable>U</usernameVariable><passwordVariable>P</passwordVariable>
</y.UsernamePasswordMultiBinding></bindings></x.SecretBuildWrapper><x.SSHAgentBuildWrapper><credentialIds><string>key</string>
</credentialIds></x.SSHAgentBuildWrapper><x.ReleaseWrapper><steps><hudson.tasks.Shell><command>a</command></hudson.tasks.Shell>
</steps></x.ReleaseWrapper></buildWrappers>`+shell("a")+`</project>`)
	wants(t, o, importer.NeedsYou, "description", "queue linux", "jdk", "authToken", "quietPeriod",
		"BuildDiscarderProperty",
		"may be a secret; use a credential", "reserved", "no address and is left out", "ArtifactArchiver", "incoming webhook",
		"login has to set the variables U, P", "with the build steps in it: Shell", "first success")
	if len(o.Warnings) != 16 {
		t.Errorf("%d warnings: %s", len(o.Warnings), asJSON(o.Warnings))
	}
	if spec.Queue != "linux" || *spec.MaxConcurrent != 3 || spec.Timeout != 900 ||
		fmt.Sprint(spec.Credentials) != "[api key login]" || spec.Command != "export TIER='prod'\nset -xe\na" {
		t.Errorf("the template is %s", asJSON(spec))
	}
	want := `[{"kind":"webhook","url":"https://h/hook"},{"kind":"email","to":"a@example.com,b@example.com","on_failure":true},` +
		`{"kind":"mattermost","url":"https://mm/hooks/1"}]`
	if got, _ := json.Marshal(spec.Notifications); string(got) != want {
		t.Errorf("notifications %s", got)
	}
	for name, kind := range map[string]string{"api": "token", "login": "env", "key": "ssh_key"} {
		if c := find(t, d, importer.Credential, name).Spec.(*importer.CredentialSpec); c.Kind != kind {
			t.Errorf("the credential %s is %+v", name, c)
		}
	}
}

func TestConcurrency(t *testing.T) {
	for body, want := range map[string]int{
		"<project/>": 1, "<project><concurrentBuild>true</concurrentBuild></project>": 0, "<flow-definition/>": 0,
		"<flow-definition><properties><x.DisableConcurrentBuildsJobProperty/></properties></flow-definition>": 1,
	} {
		if spec, _, _ := job(t, body); *spec.MaxConcurrent != want {
			t.Errorf("%s: at most %d runs, want %d", body, *spec.MaxConcurrent, want)
		}
	}
	for label, class := range map[string]importer.Class{"linux &amp;&amp; x86": importer.NeedsYou, "": importer.Same} {
		spec, o, _ := job(t, "<project><assignedNode>"+label+"</assignedNode>"+shell("a")+"</project>")
		wants(t, o, class)
		if spec.Queue != "" {
			t.Errorf("%q became the queue %s", label, spec.Queue)
		}
	}
}
