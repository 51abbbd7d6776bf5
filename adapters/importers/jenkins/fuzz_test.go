package jenkins_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/importers/jenkins"
	"github.com/writ-automation/writ/ports/importer"
)

// FuzzRead reads configurations and archives. Faults are those that a format may return, and drafts are complete.
func FuzzRead(f *testing.F) {
	f.Add([]byte("<?xml version='1.1'?><project>" + shell("#!/bin/sh\na $WORKSPACE") + parameters(parameter("String", "A",
		"")+
		parameter("Choice", "B", "<choices><string>x</string></choices>")+parameter("Password", "C", "")) + "</project>"))
	f.Add([]byte(timer("TZ=UTC\nH H(1-3)/2 1,2-5 * 1-7")))
	f.Add([]byte("<matrix-project><axes><hudson.matrix.TextAxis><name>a</name><values><string>b</string></values>" +
		"</hudson.matrix.TextAxis></axes><builders><x.AnsiblePlaybookBuilder><playbook>p</playbook><extraVars><v><key>a" +
		"</key>" +
		"<value>$A</value></v></extraVars></x.AnsiblePlaybookBuilder><x.Maven><targets>a=b 'c'</targets></x.Maven>" +
		"</builders>" +
		"<publishers><x.Mailer><recipients>a@b</recipients></x.Mailer></publishers></matrix-project>"))
	f.Add(pack(f, map[string]string{
		"jobs/a/config.xml": "<project>" + shell("x") + downstream("b", "FAILURE") + "</project>",
		"jobs/b/config.xml": "<flow-definition><definition><script>stage('s')</script></definition></flow-definition>",
	}))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := importer.Export{Body: body, Inventory: "fleet", Now: now}
		d, err := jenkins.New().Read(t.Context(), e)
		if err != nil && !importer.Malformed.Is(err) && !importer.NothingFound.Is(err) && !importer.ArchiveTooLarge.Is(err) {
			t.Fatalf("an error that is no fault of a format: %v", err)
		}
		checkDraft(t, d, err)
	})
}

// fill returns a large configuration: a fifth of the limit, because there are many.
func fill(head, part, tail string) []byte {
	return []byte(head + strings.Repeat(part, (importer.MaxBody/5-len(head)-len(tail))/len(part)) + tail)
}

// Large and hostile configurations are read in bounded work.
func TestBounds(t *testing.T) {
	list := "<project><properties><x.ParametersDefinitionProperty><parameterDefinitions>"
	listEnd := "</parameterDefinitions></x.ParametersDefinitionProperty></properties></project>"
	for name, body := range map[string][]byte{
		"script": fill("<project><builders><x.Shell><command>", "echo $WORKSPACE $BUILD_ID\n",
			"</command></x.Shell></builders></project>"),
		"steps": fill("<project><builders>", "<hudson.tasks.Shell><command>a</command></hudson.tasks.Shell>",
			"</builders></project>"),
		"members":    fill("<project>", "<abc.Def>value</abc.Def><abc.Def>value</abc.Def>", "</project>"),
		"parameters": fill(list, parameter("Password", "A", "<defaultValue>x</defaultValue>"), listEnd),
		"choices": fill(list+"<x.ChoiceParameterDefinition><choices>", "<string>a</string><string>bcdefgh</string>",
			"</choices></x.ChoiceParameterDefinition>"+listEnd),
		"environment": fill("<project><properties><x.EnvInjectJobProperty><info><propertiesContent>", "A=1234567\n",
			"</propertiesContent></info></x.EnvInjectJobProperty></properties></project>"),
		"timers": fill("<project><triggers><x.TimerTrigger><spec>", "H H * * *\n",
			"</spec></x.TimerTrigger></triggers></project>"),
		"timers, all": fill("<project><triggers>", "<x.TimerTrigger><spec>H H 1-7 * 1</spec></x.TimerTrigger>",
			"</triggers></project>"),
		"recipients": fill("<project><publishers><x.Mailer><recipients>", "a@b ", "</recipients></x.Mailer>"+
			"</publishers></project>"),
		"downstream": fill("<project><publishers><x.BuildTrigger><childProjects>", "a,b,",
			"</childProjects></x.BuildTrigger></publishers></project>"),
		"stages": fill("<flow-definition><definition><script>", "stage('a')\n", "</script></definition>"+
			"</flow-definition>"),
		"axes": fill("<matrix-project><axes><hudson.matrix.TextAxis><name>a</name><values>",
			"<string>abcdefgh</string>", "</values></hudson.matrix.TextAxis></axes></matrix-project>"),
		"arguments": fill("<project><builders><x.Maven><targets>", "a='b' ", "</targets></x.Maven></builders></project>"),
		"name":      fill("<project><builders><a", "bcdefgh", "/></builders></project>"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			d, err := read(t, importer.Export{Body: body})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			t.Logf("%v, %d MiB, %v", took, (after.TotalAlloc-before.TotalAlloc)>>20, err)
			if err != nil && !importer.Malformed.Is(err) {
				t.Error(err)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 30*time.Second || used > 300 {
				t.Errorf("it took %v and allocated %d MiB", took, used)
			}
			for _, o := range d.Objects {
				if len(o.Warnings) > 201 {
					t.Errorf("%d warnings", len(o.Warnings))
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	var jobs []string
	script := strings.Repeat("echo one line of a script of an ordinary job\n", 40)
	job := "<?xml version='1.1' encoding='UTF-8'?>\n<project><description>d</description>" +
		parameters(parameter("String", "A", "<defaultValue>1</defaultValue>")) + shell(script) + "</project>"
	for i := range importer.MaxBody / len(job) {
		jobs = append(jobs, fmt.Sprintf("jobs/job%d/config.xml", i))
	}
	files := map[string]string{}
	for _, name := range jobs[:min(len(jobs), 10_000)] {
		files[name] = job
	}
	body := pack(b, files)
	b.SetBytes(int64(len(job) * len(files)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jenkins.New().Read(b.Context(), importer.Export{Body: body, Now: now}); err != nil {
			b.Fatal(err)
		}
	}
}
