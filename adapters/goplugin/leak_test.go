package goplugin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/waittest"
)

// leaky prints its variables wherever it can, and provides nothing that handles secrets.
func leaky() plugin.Extension {
	token, key := os.Getenv("TOKEN"), os.Getenv("KEY")
	fmt.Fprintln(os.Stderr, "begins with", token)
	return plugin.Extension{Notifiers: map[string]extension.Notifier{
		"tell": extension.NotifierFunc(func(context.Context, extension.EndedRun) error {
			fmt.Println("calls with", token)
			fmt.Fprintln(os.Stderr, "Basic", base64.StdEncoding.EncodeToString([]byte("user:"+token)))
			return errors.New("refused: " + token)
		}),
		// The text that is sent ends within the key.
		"long": extension.NotifierFunc(func(context.Context, extension.EndedRun) error {
			return errors.New("refused: " + key)
		}),
	}}
}

// leaks starts plugins that have secrets in their variables, and returns these.
func leaks(t *testing.T, names ...string) (*Host, *record, []string) {
	t.Helper()
	c, log := fixture(t, place(t, names...))
	c.Env = map[string]map[string]secret.Text{}
	env := map[string]secret.Text{"TOKEN": "c4nary-token", "KEY": secret.Text(strings.Repeat("c4nary-key-", 200))}
	for _, name := range names {
		c.Env[name] = env
	}
	h, err := open(t.Context(), c, quick())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, log, []string{"c4nary", base64.StdEncoding.EncodeToString([]byte("user:c4nary-token"))}
}

// TestVariablesStay checks that the variables of a plugin without secret engines are in no line and no error of it.
// Keeps T09.
func TestVariablesStay(t *testing.T) {
	t.Parallel()
	h, log, secrets := leaks(t, "leaky")
	var shown strings.Builder
	for name, want := range map[string]string{"tell": "refused: ***", "long": "refused: "} {
		err := h.Notifiers()[name].Notify(t.Context(), extension.EndedRun{ID: "run_1"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprintln(&shown, err)
	}
	for _, want := range []string{"begins with ***", "calls with ***", "Basic "} {
		waittest.Eventually(t, time.Minute, want+" is logged", func() bool { return strings.Contains(log.String(), want) })
	}
	shown.WriteString(log.String())
	for _, s := range secrets {
		if strings.Contains(shown.String(), s) {
			t.Errorf("%s is shown: %s", s, &shown)
		}
	}
}

// TestVariablesStayAtTheStart checks that what a plugin prints in the place of its address is shown without its
// variables.
// Keeps T09.
func TestVariablesStayAtTheStart(t *testing.T) {
	t.Parallel()
	h, log, secrets := leaks(t, "early")
	e := h.status("early")
	if e.State != system.ExtensionFailed || !strings.Contains(e.Error, "the token is ***") ||
		!strings.Contains(log.String(), "the token is ***") || strings.Contains(e.Error+log.String(), secrets[0]) {
		t.Errorf("%+v\n%s", e, log)
	}
}

// TestTexts checks what is shown of errors and of a plugin's answers, also of those that were cut within a value.
func TestTexts(t *testing.T) {
	t.Parallel()
	p := newSupervised(&Host{Config: Config{Log: new(record).logger(), Env: map[string]map[string]secret.Text{
		"p": {"TOKEN": "c4nary-token", "PEM": "-----BEGIN-----\nc4naryc4nary\n-----END-----\n", "TINY": "a"},
	}}}, found{name: "p"})
	for text, want := range map[string]string{
		"plain": "plain", "a c4nary-token!": "a ***!", "a c4nary-t...": "a ...",
		"BEGIN-----\nc4naryc4nary": "BEGIN----- ***", `"c4nary-token"`: `"***"`,
	} {
		if got := p.short(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	e := p.aiError(&wire.Failure{Message: "no c4nary-token", Cause: "the c4nary-token"})
	if e.Message != "no ***" || e.Cause.Error() != "the ***" {
		t.Errorf("%q, %q", e.Message, e.Cause)
	}
}

// TestStreams checks that a value which arrives in parts, while another stream prints, is not logged.
func TestStreams(t *testing.T) {
	t.Parallel()
	log := &record{}
	l := &lines{texts: newTexts(map[string]secret.Text{"TOKEN": "c4nary-token"}), log: log.logger()}
	first, second := &output{lines: l}, &output{lines: l}
	for _, part := range []struct {
		to   *output
		text string
	}{{first, "one c4nar"}, {second, "two "}, {first, "y-token\n"}, {second, "c4nary-token\n"}} {
		if n, err := part.to.Write([]byte(part.text)); n != len(part.text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := log.String(); strings.Contains(got, "c4nar") || !strings.Contains(got, "one ***") ||
		!strings.Contains(got, "two ***") {
		t.Error(got)
	}
}

// TestLongLine checks that of a line without an end a bounded part is kept and logged, without the value at its end.
func TestLongLine(t *testing.T) {
	t.Parallel()
	log := &record{}
	value := strings.Repeat("c4nary-key-", maxLine/10)
	o := &output{lines: &lines{texts: newTexts(map[string]secret.Text{"KEY": secret.Text(value)}), log: log.logger()}}
	for range 50 {
		if _, err := o.Write([]byte("key " + value)); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.begun) != maxLine {
		t.Errorf("%d bytes are kept", len(o.begun))
	}
	if _, err := o.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, `line="key ..."`) || strings.Contains(got, "c4nary") {
		t.Error(got)
	}
}
