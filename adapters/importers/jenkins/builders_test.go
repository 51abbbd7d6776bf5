package jenkins_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/importer"
)

func TestScripts(t *testing.T) {
	for body, want := range map[string]struct{ tool, command string }{
		shell("make test"):                     {"bash", "set -xe\nmake test"},
		shell("#!/bin/bash -eu\nmake"):         {"bash", "set -eu\nmake"},
		shell("#!/usr/bin/env bash\r\nmake"):   {"bash", "make"},
		shell("#!/usr/bin/python3\nprint(1)"):  {"python", "print(1)"},
		shell("#!/usr/bin/env pwsh\nGet-Date"): {"powershell", "Get-Date"},
		shell(""):                              {"bash", "set -xe\n"},
		shell("cd $WORKSPACE"):                 {"bash", "export WORKSPACE=\"${PWD-}\"\nset -xe\ncd $WORKSPACE"},
		shell("#!/usr/bin/perl -w\nprint 'it''s'"): {"bash", "script=$(mktemp)\ncat >\"$script\" <" +
			"<'END_OF_SCRIPT'\n#!/usr/bin/perl -w\nprint 'it''s'\nEND_OF_SCRIPT\n'/usr/bin/perl' '-w' \"$script\"\n"},
		"<builders><hudson.plugins.python.Python><command>a()</command></hudson.plugins.python.Python>" +
			"</builders>": {"python", "a()"},
		"<builders><hudson.plugins.powershell.PowerShell><command>a</command></hudson.plugins.powershell.PowerShell>" +
			"</builders>": {"powershell", "a"},
		"<builders><hudson.tasks.Maven><targets>clean install -Dx=1 -Dpassword=" + canary +
			" ${A} `b`</targets><pom>a/pom.xml</pom>" +
			"<properties>k=v w\ntoken=" + canary + "\n</properties></hudson.tasks.Maven></builders>": {"bash",
			"set -xe\nmvn -f a/pom.xml \"-Dk=v w\" clean install -Dx=1 \"${A}\" \"\\`b\\`\"\n"},
		"<builders><hudson.tasks.Ant><targets>dist</targets><antOpts>-Xmx1g -Da='b c'</antOpts></hudson.tasks.Ant>" +
			"</builders>": {"bash",
			"set -xe\nexport ANT_OPTS=\"-Xmx1g -Da='b c'\"\nant dist\n"},
		"<builders><hudson.plugins.gradle.Gradle><switches>-i</switches><tasks>build $(id)</tasks><useWrapper>true" +
			"</useWrapper>" +
			"</hudson.plugins.gradle.Gradle></builders>": {"bash", "set -xe\n./gradlew -i build \"\\$(id)\"\n"},
	} {
		spec, o, _ := job(t, "<project>"+body+"</project>")
		if spec.Tool != want.tool || spec.Command != want.command || len(spec.Steps) > 0 || spec.Inventory != "fleet" {
			t.Errorf("%s became %s", body, asJSON(spec))
		}
		if strings.Contains(body, canary) {
			wants(t, o, importer.NeedsYou, "may be a secret")
		}
	}
	_, o, _ := job(t, "<project>"+shell("make")+"</project>")
	wants(t, o, importer.Same)
	_, o, _ = job(t, "<project>"+shell("echo $BUILD_NUMBER ${GIT_COMMIT}")+"</project>")
	wants(t, o, importer.NeedsYou, "BUILD_NUMBER, GIT_COMMIT")
	_, o, _ = job(t, "<project><builders><hudson.tasks.Shell><command>a</command><unstableReturn>2</unstableReturn>"+
		"</hudson.tasks.Shell></builders></project>")
	wants(t, o, importer.Adapted, "exit code 2")
	spec, o, _ := job(t, "<project><builders><hudson.tasks.BatchFile><command>dir\n'@</command></hudson.tasks.BatchFile>"+
		"</builders></project>")
	wants(t, o, importer.NeedsYou, "needs Windows")
	if spec.Tool != "powershell" || !strings.Contains(spec.Command, "dir\n '@\n'@\n") {
		t.Errorf("a batch file became %s", asJSON(spec))
	}
}

// What is not known never succeeds silently.
func TestUnknownBuildSteps(t *testing.T) {
	for _, body := range []string{
		"<project><builders><com.example.Other><secret>" + canary + "</secret></com.example.Other></builders></project>",
		"<flow-definition><definition class='org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition'><script>node { " +
			"stage('Build it')" +
			" { sh 'make " + canary + "' } }</script></definition></flow-definition>",
		"<flow-definition><definition class='x.CpsScmFlowDefinition'><scriptPath>ci/Jenkinsfile</scriptPath></definition>" +
			"</flow-definition>",
		"<flow-definition/>",
		"<project><builders><a.ConditionalBuilder><conditionalbuilders><hudson.tasks.Shell><command>a</command>" +
			"</hudson.tasks.Shell>" +
			"</conditionalbuilders><runCondition class='b.FileExistsCondition'/></a.ConditionalBuilder></builders></project>",
		"<project><builders><a.TriggerBuilder/></builders></project>",
		"<project><builders><a.MultiJobBuilder/></builders></project>",
		"<matrix-project><axes><a.DynamicAxis><name>a</name></a.DynamicAxis></axes>" + shell("make") + "</matrix-project>",
		"<project><builders><a.AnsiblePlaybookBuilder><playbook>/etc/x.yml</playbook></a.AnsiblePlaybookBuilder>" +
			"</builders></project>",
	} {
		spec, o, _ := job(t, body)
		wants(t, o, importer.NeedsYou)
		if spec.Tool != "bash" || !strings.HasSuffix(spec.Command, "exit 1\n") {
			t.Errorf("%s became %s", body, asJSON(spec))
		}
	}
	spec, o, _ := job(t, "<project/>")
	wants(t, o, importer.Adapted, "without doing anything")
	if spec.Command != "true" {
		t.Errorf("a job without build steps became %s", asJSON(spec))
	}
	_, o, _ = job(t, "<flow-definition><definition><script>stage('A') {} stage \"B\"</script></definition>"+
		"</flow-definition>")
	wants(t, o, importer.NeedsYou, "stages are A, B")
}

func TestSeveralBuildSteps(t *testing.T) {
	spec, o, _ := job(t, "<project><builders><hudson.tasks.Shell><command>a</command></hudson.tasks.Shell>"+
		"<hudson.tasks.Shell><command>b</command></hudson.tasks.Shell><com.example.Other/>"+
		"<a.SingleConditionalBuilder><condition class='b.AlwaysRun'/><buildStep class='hudson.tasks.Shell'><command>c"+
		"</command>"+
		"</buildStep></a.SingleConditionalBuilder><a.ConditionalBuilder><runCondition class='b.NeverRun'/>"+
		"</a.ConditionalBuilder>"+
		"</builders></project>")
	wants(t, o, importer.NeedsYou, "directory of its own", "Other has no counterpart", "NeverRun")
	var got []string
	for _, s := range spec.Steps {
		got = append(got, s.Name+"="+s.Tool+fmt.Sprint(s.DependsOn))
	}
	if strings.Join(got, " ") != "Shell=bash[] Shell 2=bash[] Other=bash[] Shell 3=bash[]" {
		t.Errorf("steps %v", got)
	}
	many := strings.Repeat("<hudson.tasks.Shell><command>a</command></hudson.tasks.Shell>", 300)
	spec, o, _ = job(t, "<project><builders>"+many+"</builders></project>")
	wants(t, o, importer.NeedsYou, "more than 256")
	if len(spec.Steps) > 0 || !strings.HasSuffix(spec.Command, "exit 1\n") {
		t.Errorf("a job with too many steps became %s", asJSON(spec))
	}
}

func TestMaven(t *testing.T) {
	spec, o, _ := job(t, "<maven2-moduleset><goals>deploy</goals><rootPOM>p/pom.xml</rootPOM><mavenOpts>-Xmx1g"+
		"</mavenOpts>"+
		"<prebuilders><hudson.tasks.Shell><command>a</command></hudson.tasks.Shell></prebuilders>"+
		"<runHeadless>true</runHeadless></maven2-moduleset>")
	wants(t, o, importer.Adapted, "installed on the executor", "runHeadless")
	if len(spec.Steps) != 2 || spec.Steps[1].Command != "set -xe\nexport MAVEN_OPTS=-Xmx1g\nmvn -f p/pom.xml deploy\n" {
		t.Errorf("steps %s", asJSON(spec.Steps))
	}
}

func TestMatrix(t *testing.T) {
	axes := "<axes><hudson.matrix.TextAxis><name>ARCH</name><values><string>arm</string><string>x86</string></values>" +
		"</hudson.matrix.TextAxis><hudson.matrix.LabelAxis><name>OS</name><values><string>linux</string></values>" +
		"</hudson.matrix.LabelAxis></axes>"
	spec, o, _ := job(t, "<matrix-project>"+axes+"<builders><hudson.tasks.Shell><command>a</command></hudson.tasks.Shell>"+
		"<hudson.tasks.Shell><command>b</command></hudson.tasks.Shell></builders></matrix-project>")
	wants(t, o, importer.NeedsYou, "linux became a queue")
	var got []string
	for _, s := range spec.Steps {
		got = append(got, s.Name+fmt.Sprint(s.DependsOn)+s.Queue)
	}
	want := "Start[], Shell arm linux[Start]linux, Shell x86 linux[Start]linux, " +
		"Shell 2 arm linux[Shell arm linux]linux, Shell 2 x86 linux[Shell x86 linux]linux"
	if strings.Join(got, ", ") != want {
		t.Errorf("steps %s", strings.Join(got, ", "))
	}
	if c := spec.Steps[1].Command; c != "export ARCH='arm'\nexport OS='linux'\nset -xe\na" {
		t.Errorf("a command is %q", c)
	}
	spec, _, _ = job(t, "<matrix-project>"+axes+"<combinationFilter>ARCH != 'arm'</combinationFilter>"+shell("a")+""+
		"</matrix-project>")
	if !strings.HasSuffix(spec.Command, "exit 1\n") {
		t.Errorf("a matrix with a filter became %s", asJSON(spec))
	}
}

func TestPlaybook(t *testing.T) {
	spec, o, d := job(t, `<project><scm class="hudson.plugins.git.GitSCM"><userRemoteConfigs><c><url>https://git.exam`+
		`ple.com/ops.git</url>
</c></userRemoteConfigs></scm><builders><org.jenkinsci.plugins.ansible.AnsiblePlaybookBuilder>
<playbook>${WORKSPACE}/site.yml</playbook><inventory class="x.InventoryContent"><content>[web]
a
</content></inventory><limit>web</limit><tags>a, b</tags><skippedTags>c</skippedTags><forks>9</forks>
<additionalParameters>-vv</additionalParameters><sudo>true</sudo><sudoUser>app</sudoUser><credentialsId>key</credentialsId>
<vaultCredentialsId>vault</vaultCredentialsId><hostKeyChecking>false</hostKeyChecking>
<extraVars><v><key>a</key><value>b</value></v><v><key>h</key><value>`+canary+`</value><hidden>true</hidden></v></extraVars>
</org.jenkinsci.plugins.ansible.AnsiblePlaybookBuilder></builders></project>`)
	wants(t, o, importer.NeedsYou, "may be a secret", "Host keys are checked")
	if spec.Playbook != "site.yml" || spec.Tool != "ansible" || spec.Limit != "web" || spec.Forks != 9 ||
		spec.Verbosity != 2 ||
		fmt.Sprint(spec.Tags, spec.SkipTags, spec.Credentials, spec.Project) != "[a b] [c] [key vault]ops" ||
		fmt.Sprint(spec.ExtraVars) != "map[a:b ansible_become:true ansible_become_user:app]" || spec.Inventory != "site" {
		t.Errorf("the template is %s", asJSON(spec))
	}
	if s := find(t, d, importer.Inventory, "site").Spec.(*importer.InventorySpec); s.Content != "[web]\na\n" {
		t.Errorf("the inventory is %q", s.Content)
	}
	for name, kind := range map[string]string{"key": "ssh_key", "vault": "vault_password"} {
		c := find(t, d, importer.Credential, name)
		wants(t, c, importer.NeedsYou, "must be entered")
		if c.Spec.(*importer.CredentialSpec).Kind != kind {
			t.Errorf("the credential is %s", asJSON(c))
		}
	}
	spec, _, _ = job(t, `<project><builders><x.AnsiblePlaybookBuilder><playbook>p.yml</playbook><inventory class="x.I`+
		`nventoryPath">`+
		`<path>hosts.ini</path></inventory></x.AnsiblePlaybookBuilder></builders></project>`)
	if spec.InventoryPath != "hosts.ini" || spec.Inventory != "" {
		t.Errorf("the template is %s", asJSON(spec))
	}
	spec, o, _ = job(t, `<project><builders><x.AnsiblePlaybookBuilder><playbook>p.yml</playbook><limit>$HOSTS</limit>`+
		`<extraVars><v><key>v</key><value>${A}-$B</value></v></extraVars></x.AnsiblePlaybookBuilder></builders>`+
		parameters(`<hudson.model.StringParameterDefinition><name>A</name></hudson.model.StringParameterDefinition>`)+`<`+
		`/project>`)
	wants(t, o, importer.NeedsYou, "limit", "names the variable B")
	if spec.Limit != "" || spec.Inventory != "fleet" || spec.ExtraVars["v"] != "{{ A }}-$B" {
		t.Errorf("the template is %s", asJSON(spec))
	}
}
