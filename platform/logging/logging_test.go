package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/platform/logging"
	"github.com/writ-automation/writ/ports/secret"
)

const token = "writ_0123456789abcdefABCDEF0123456789_00Az9z"

func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	type wrapper struct{ URL string }
	for _, format := range []string{"text", "json", "terminal"} {
		var out bytes.Buffer
		c := logging.Config{Level: "debug", Format: format}
		if format == "terminal" {
			c.Format, c.Terminal = "text", true
		}
		log, err := logging.New(&out, c)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("got "+token, "password", "hunter2", "worker_token", "hunter2", "url", "postgres://writ:hunter2@db/writ",
			"error", fmt.Errorf("dial: %w", errors.New("postgres://writ:hunter2@db/writ refused")),
			"header", "Bearer "+token, "path", "/v1/runs/run_1/stream?ticket=hunter2&after=3",
			"secret_value", secret.Text("hunter2"), "conf", wrapper{URL: "nats://a:hunter2@h"}, "Authorization",
			[]string{"hunter2"},
			slog.Group("group", "api_key", "hunter2", "plain", "stays"))
		got := out.String()
		for _, leak := range []string{"hunter2", "0123456789abcdef"} {
			if strings.Contains(got, leak) {
				t.Errorf("%s: %q shows in %s", format, leak, got)
			}
		}
		for _, want := range []string{"stays", "refused", "after=3", "writ_***", "postgres://writ:***@db/writ"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in %s", format, want, got)
			}
		}
	}
}

// TestTerminal writes the times, levels and messages in columns, and keeps every record on its line.
func TestTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := logging.New(&out, logging.Config{Terminal: true})
	if err != nil {
		t.Fatal(err)
	}
	log.With("worker", "w1").Info("run started", "run", "run_1")
	log.WithGroup("g").Error("a\nb", "user", "x\ny")
	log.Debug("not shown")
	form := regexp.MustCompile(`^\d\d:\d\d:\d\d INFO  run started  worker=w1 run=run_1\n` +
		`\d\d:\d\d:\d\d ERROR "a\\nb"  g\.user="x\\ny"\n$`)
	if !form.MatchString(out.String()) {
		t.Errorf("%q", out.String())
	}
}

func TestIdsOfSecretsStay(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := logging.New(&out, logging.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("made", "token_id", "tok_01", "token_name", "ci", "tokens_made", 3)
	log.Debug("not at this level")
	if got := out.String(); !strings.Contains(got, "token_id=tok_01") || !strings.Contains(got, "token_name=ci") ||
		strings.Contains(got, "not at this level") {
		t.Errorf("%s", got)
	}
}

func TestSecretPrintsAsterisks(t *testing.T) {
	t.Parallel()
	s := secret.Text("hunter2")
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, s); strings.Contains(got, "hunter") || strings.Contains(got, "68756e") {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	b, err := json.Marshal(struct{ Key secret.Text }{s})
	if err != nil || string(b) != `{"Key":"***"}` {
		t.Errorf("%s %v", b, err)
	}
	if s.Reveal() != "hunter2" || secret.Text("").String() != "" {
		t.Error("reveal or the empty secret is wrong")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []logging.Config{{Level: "loud"}, {Format: "xml"}} {
		if _, err := logging.New(&bytes.Buffer{}, c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
