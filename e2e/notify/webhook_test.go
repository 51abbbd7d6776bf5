package notify

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

const key = "k3y-of-the-receiver"

// TestAWebhookCarriesTheRecord compares the message about a run, for each way in which a run ends, with its record in
// the API.
func TestAWebhookCarriesTheRecord(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, nil)
		w := newFixture(t, harness.Options{DB: dbURL})
		submit := func(name, command string, more obj) string {
			body := script(command, obj{"kind": "webhook", "url": in.URL + "/" + name + "?token=t", "key": key},
				hook(in.URL+"/bare/"+name))
			body["name"], body["labels"], body["change"] = name, obj{"team": "<core> & more"}, "CHG-1"
			body["extra_vars"] = obj{"region": "eu-canary", "db_password": "hunter22", "count": 12345678901234567,
				"deep": obj{"x": []int{1}}}
			for k, v := range more {
				body[k] = v
			}
			return w.Submit(body).ID
		}
		parked, held := obj{"queue": "parked"}, obj{"require_approval": true, "queue": "parked"}
		runs := map[string]string{
			"succeeded":   submit("succeeded", `echo '{"answer": 42, "copy": "eu-canary"}' > "$WRIT_OUTPUTS"`, nil),
			"failed":      submit("failed", "echo no >&2; exit 3", nil),
			"canceled":    submit("canceled", "true", parked),
			"rejected":    submit("rejected", "true", held),
			"interrupted": submit("interrupted", "sleep 300", nil),
		}
		w.answer(http.StatusOK, http.MethodPost, "/v1/runs/"+runs["canceled"]+"/cancel", nil)
		w.answer(http.StatusOK, http.MethodPost, "/v1/runs/"+runs["rejected"]+"/reject", obj{"reason": "no"})
		for _, name := range []string{"succeeded", "failed", "canceled", "rejected"} {
			in.await("/"+name+"?token=t", 1)
			w.settled(runs[name], 2+2*count(name == "rejected"))
		}
		w.Until(runs["interrupted"], awhile, func(r harness.Run) bool { return r.Status == "running" })
		w.Kill()
		w.again()
		for name, id := range runs {
			w.ends(id, name)
			w.compare(t, in, name, id)
		}
	})
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compare compares the letters about the end of a run with its record.
func (w *fixture) compare(t *testing.T, in *sink, name, id string) {
	t.Helper()
	n := 1 + count(name == "rejected")
	rows := w.settled(id, 2*n)
	record := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+id, nil)
	if record["extra_vars"].(obj)["region"] != "eu-canary" || record["name"] != name {
		t.Fatalf("%s: %v", name, record)
	}
	record["event"] = "run.finished"
	delete(record, "audit_receipt") // only in the answer to a read of the record
	for k := range record["extra_vars"].(obj) {
		record["extra_vars"].(obj)[k] = "[redacted]"
	}
	for _, path := range []string{"/" + name + "?token=t", "/bare/" + name} {
		got := in.await(path, n)
		l, ended := letter{}, 0
		for _, x := range got { // the message about a hold may arrive after its decision
			if x.header.Get("Writ-Event") == "run.finished" {
				l, ended = x, ended+1
			}
		}
		if len(got) != n || ended != 1 {
			t.Fatalf("%s: %d letters came to %s, %d of them about its end", name, len(got), path, ended)
		}
		if diff := cmp.Diff(record, decoded(t, l.body)); diff != "" {
			t.Errorf("%s: the record differs from the letter (-record +letter):\n%s", name, diff)
		}
		if signed := strings.Contains(path, "token"); signed != l.signed(key) ||
			!signed && l.header.Get("Writ-Signature") != "" {
			t.Errorf("%s: the signature is %q", path, l.header.Get("Writ-Signature"))
		}
		if l.header.Get("Content-Type") != "application/json" || !strings.HasPrefix(l.header.Get("User-Agent"), "Writ") {
			t.Errorf("%s: %v", path, l.header)
		}
		known := false
		for _, r := range rows {
			if r.ID == l.header.Get("Writ-Delivery") {
				known = r.Event == "run.finished" && r.brief() == "run.finished run webhook delivered 1" &&
					r.Target == in.URL+"/***"
			}
		}
		if !known {
			t.Errorf("%s: the delivery %q is none of %+v", path, l.header.Get("Writ-Delivery"), rows)
		}
		for _, secret := range []string{"hunter22", "token=t", key, "/bare/"} {
			if strings.Contains(string(l.body), secret) {
				t.Errorf("%s: the letter holds %q: %s", path, secret, l.body)
			}
		}
	}
}

// TestOneLetterForAFamily runs a pipeline and a split, whose children cause no notifications.
func TestOneLetterForAFamily(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, nil)
		w := newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--notify-webhook", in.URL + "/server"}})
		playbook, hosts := filepath.Join(w.Dir, "p.yml"), filepath.Join(w.Dir, "hosts")
		write(t, playbook, "- hosts: all\n  gather_facts: false\n  tasks: [{debug: {msg: hello}}]\n")
		write(t, hosts, "a ansible_connection=local\nb ansible_connection=local\n")
		pipe := w.id("/v1/pipelines", obj{"name": "pipe", "notifications": []obj{hook(in.URL + "/pipe")}, "steps": []obj{
			{"name": "one", "tool": "bash", "command": "true"},
			{"name": "two", "tool": "bash", "command": "exit 1", "retries": 1},
		}})
		split := w.Submit(obj{"playbook": playbook, "inventory": hosts, "shards": 2,
			"notifications": []obj{hook(in.URL + "/split")}}).ID
		w.ends(pipe, "failed")
		w.ends(split, "succeeded")
		for id, path := range map[string]string{pipe: "/pipe", split: "/split"} {
			same(t, path, w.summary(id, 2), "run.finished run webhook delivered 1", "run.finished server webhook delivered 1")
			l := decoded(t, in.await(path, 1)[0].body)
			if l["id"] != id || l["kind"] != strings.TrimPrefix(strings.Replace(path, "pipe", "pipeline", 1), "/") {
				t.Errorf("%s: %v", path, l)
			}
		}
		var children []string
		for _, x := range w.Get(pipe).Steps {
			children = append(children, x.RunID)
		}
		for _, x := range w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+split+"/shards", nil)["shards"].([]any) {
			children = append(children, x.(obj)["id"].(string))
		}
		if len(children) != 4 {
			t.Errorf("%d children", len(children))
		}
		for _, id := range children {
			if got := w.notifications(id); len(got) != 0 {
				t.Errorf("a child told somebody: %+v", got)
			}
		}
		if got := in.all(); len(got) != 4 {
			t.Errorf("%d letters came", len(got))
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
