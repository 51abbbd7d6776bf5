package ansible

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// listCap bounds the bytes of a host listing.
const listCap = 64 << 20

// Hosts returns the hosts of the playbook's plays within the limits. ansible-playbook lists the hosts of a play in no
// order, so Hosts also lists the inventory. A failed listing is an Invalid fault with Ansible's reason.
func (t *Tool) Hosts(
	ctx context.Context, spec extension.ToolSpec, p execution.Play,
) ([]string, []runs.Warning, error) {
	defer forget(p.Login)
	j, err := t.prepare(ctx, spec, p)
	var refused refusal
	if errors.As(err, &refused) {
		return nil, nil, &fault.Error{Kind: fault.Invalid, Message: string(refused)}
	}
	if err != nil {
		return nil, nil, err
	}
	defer j.close()
	n := newNotes(p)
	listing, err := t.list(ctx, j, spec.Env, "ansible-playbook", n, append([]string{"--list-hosts"}, j.args...))
	if err != nil || n.limitFailed {
		return nil, n.list(0, nil, true, true), err
	}
	addressed := map[string]bool{}
	for _, h := range playHosts(listing) {
		addressed[h] = true
	}
	var hosts []string
	if len(addressed) > 0 {
		args := append([]string{"--list-hosts"},
			append(j.selection(p), append(vaultArguments(p.Login), "--extra-vars=@"+j.path(varsFile), "all")...)...)
		if listing, err = t.list(ctx, j, spec.Env, "ansible", n, args); err != nil {
			return nil, nil, err
		}
		for _, h := range inventoryHosts(listing) {
			if addressed[h] {
				hosts = append(hosts, h)
				delete(addressed, h)
			}
		}
	}
	return hosts, n.list(len(hosts), nil, true, true), nil
}

// list runs one listing and reads its warnings.
func (t *Tool) list(
	ctx context.Context, j *job, env map[string]string, program string, n *notes, args []string,
) (string, error) {
	path, err := t.executable(ctx, env, program)
	if err != nil {
		return "", err
	}
	out, errs := &capWriter{left: listCap}, &tailWriter{to: &capWriter{left: 0}}
	c := j.command(path, args...)
	c.Stdout, c.Stderr = out, errs
	code, err := t.runner.Run(ctx, c)
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("ansible: list the hosts: %w", err)
	}
	for _, w := range printedWarnings(string(errs.last)) {
		n.warning(w)
	}
	if code == 0 {
		return out.String(), nil
	}
	reason := errs.failure()
	if limitLeavesNobody(reason) {
		n.limitFailed = true
		return "", nil
	}
	reason = cmp.Or(reason, fmt.Sprintf("exit code %d", code))
	return "", &fault.Error{Kind: fault.Invalid, Message: "The hosts could not be listed: " + reason}
}

// capWriter keeps the first bytes and drops the rest.
type capWriter struct {
	bytes.Buffer
	left int
}

func (w *capWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	w.Buffer.Write(p[:n])
	return len(p), nil
}

func escapes() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;]*m`) }

// printedWarnings returns the warnings of an error output. Ansible breaks them at the terminal width.
func printedWarnings(text string) []string {
	var out []string
	open := false
	for line := range strings.Lines(escapes().ReplaceAllString(text, "")) {
		line = strings.TrimSpace(line)
		if w, ok := strings.CutPrefix(line, "[WARNING]:"); ok {
			out, open = append(out, strings.TrimSpace(w)), true
			continue
		}
		if line == "" || strings.HasPrefix(line, "ERROR!") || strings.HasPrefix(line, "[") {
			open = false
		}
		if open {
			out[len(out)-1] += " " + line
		}
	}
	return out
}

// playHosts reads the listing of a playbook: after the host count of each play, that many names follow.
func playHosts(listing string) []string {
	count := regexp.MustCompile(`^    hosts \(([0-9]+)\):$`)
	var out []string
	left := 0
	for line := range strings.Lines(escapes().ReplaceAllString(listing, "")) {
		line = strings.TrimRight(line, "\n")
		if m := count.FindStringSubmatch(line); m != nil && left == 0 {
			left, _ = strconv.Atoi(m[1]) // digits
			continue
		}
		if left > 0 {
			out = append(out, strings.TrimSpace(line))
			left--
		}
	}
	return out
}

// inventoryHosts reads the listing of a pattern: a first line with the count, then the names.
func inventoryHosts(listing string) []string {
	var out []string
	for line := range strings.Lines(escapes().ReplaceAllString(listing, "")) {
		if name, ok := strings.CutPrefix(line, "    "); ok {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}
