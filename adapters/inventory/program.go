package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// source is the input of ansible-inventory.
type source struct {
	file    string
	dir     string // the working directory
	tree    string // the checkout, empty for none
	plugin  string // the only enabled inventory plugin
	secrets []string
	access  catalog.Access
}

// fromScript runs a program that prints Ansible's dynamic inventory: the content, or a file of the checkout.
func (k *Collector) fromScript(ctx context.Context, c catalog.Collection) ([]byte, catalog.Format, error) {
	return k.inPrivate(func(private string) (_ []byte, err error) {
		s := source{plugin: "script", dir: private, tree: c.Tree, file: filepath.Join(private, "inventory"),
			access: c.Access}
		if c.Tree != "" {
			s.dir = c.Tree
		}
		switch {
		case c.Path != "":
			file, err := executable(c.Tree, c.Path)
			if err != nil {
				return nil, err
			}
			s.file = file
		case strings.TrimSpace(c.Config.Content) == "":
			return nil, refuse("the source has neither a program nor a path")
		default:
			text := strings.ReplaceAll(c.Config.Content, "\r\n",
				"\n") // the system would take \r for a part of the interpreter's name
			if err := os.WriteFile(s.file, []byte(text), 0o700); err != nil { //nolint:gosec // it is executed
				return nil, fmt.Errorf("write the program of a source: %w", err)
			}
		}
		if s.file, err = counted(s.file); err != nil {
			return nil, err
		}
		return k.inventory(ctx, private, s)
	})
}

// exitMark is what the file of counted says last, before the exit code.
const exitMark = "writ: exit code "

// counted writes a program that executes the file and reports its exit code, of which Ansible says nothing. It is
// beside the file, whose neighbours Ansible reads too: group_vars. A file that the system cannot execute is returned as
// it is: a shell would take it for its own script.
func counted(file string) (string, error) {
	f, err := os.Open(file) //nolint:gosec // a file of the checkout, or of the private directory
	if err != nil {
		return "", fmt.Errorf("read the program of a source: %w", err)
	}
	head := make([]byte, 2)
	n, _ := io.ReadFull(f, head)
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("read the program of a source: %w", err)
	}
	if string(head[:n]) != "#!" && string(head[:n]) != "\x7fE" {
		return file, nil
	}
	text := "#!/bin/sh\n'" + strings.ReplaceAll(file, "'", `'\''`) + "' \"$@\"\ncode=$?\n" +
		"[ $code = 0 ] || echo '" + exitMark + "'$code >&2\nexit $code\n"
	to, err := os.CreateTemp(filepath.Dir(file), ".writ-program-")
	if err != nil {
		return "", fmt.Errorf("write the program of a source: %w", err)
	}
	_, err = to.WriteString(text)
	if err = errors.Join(err, to.Chmod(0o700), to.Close()); err != nil { // it is executed
		return "", fmt.Errorf("write the program of a source: %w", err)
	}
	return to.Name(), nil
}

// executable makes a file of a private checkout executable and returns its resolved path.
func executable(tree, name string) (string, error) {
	f, fi, err := openBelow(tree, name)
	if err != nil {
		return "", err
	}
	if err := errors.Join(f.Chmod(fi.Mode().Perm()|0o700), f.Close()); err != nil {
		return "", fmt.Errorf("make a file of the checkout executable: %w", err)
	}
	file, err := filepath.EvalSymlinks(filepath.Join(tree, name))
	if err != nil {
		return "", fmt.Errorf("find a file of the checkout: %w", err)
	}
	return file, nil
}

var pluginForm = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,4}$`)

// fromPlugin runs Ansible's plugin with its configuration. The configuration is JSON, which is valid YAML.
func (k *Collector) fromPlugin(ctx context.Context, c catalog.Collection) ([]byte, catalog.Format, error) {
	plugin, ok := c.Config.Plugin["plugin"].(string)
	if !ok || !pluginForm.MatchString(plugin) || len(plugin) > 200 {
		return nil, "", refuse("the configuration has no member plugin with the name of an inventory plugin")
	}
	text, err := json.Marshal(c.Config.Plugin)
	if err != nil {
		return nil, "", refuse("the configuration of the plugin cannot be written").Because(err)
	}
	return k.inPrivate(func(private string) ([]byte, error) {
		s := source{
			plugin: plugin, dir: private, tree: c.Tree, file: filepath.Join(private, fileName(plugin)),
			secrets: secretsIn(c.Config.Plugin, false), access: c.Access,
		}
		if c.Tree != "" {
			s.dir = c.Tree
		}
		if err := os.WriteFile(s.file, text, 0o600); err != nil {
			return nil, fmt.Errorf("write the configuration of a plugin: %w", err)
		}
		return k.inventory(ctx, private, s)
	})
}

// fileName returns a file name that the plugin accepts: plugins require a suffix, which is almost always the name of
// the plugin.
func fileName(plugin string) string {
	short := plugin[strings.LastIndexByte(plugin, '.')+1:]
	if other, ok := map[string]string{"docker_containers": "docker", "gcp_compute": "gcp",
		"nb_inventory": "netbox"}[short]; ok {
		short = other
	}
	return "inventory." + short + ".yml"
}

// inPrivate calls fn with a new private directory and removes it afterwards.
func (k *Collector) inPrivate(fn func(dir string) ([]byte, error)) (_ []byte, _ catalog.Format, err error) {
	dir, err := os.MkdirTemp(k.cfg.TempDir, "writ-source-")
	if err != nil {
		return nil, "", fmt.Errorf("make a private directory: %w", err)
	}
	defer func() { err = errors.Join(err, program.Remove(dir)) }()
	listing, err := fn(dir)
	if err != nil {
		return nil, "", err
	}
	content, err := convert(listing)
	return content, catalog.JSON, err
}

// inventory runs ansible-inventory and returns its listing. Group variables stay at their groups.
func (k *Collector) inventory(ctx context.Context, private string, s source) (_ []byte, err error) {
	file, err := exec.LookPath(k.cfg.AnsibleInventory)
	if err != nil {
		return nil, refuse("ansible-inventory is not installed on the executing machine").Because(err)
	}
	env, err := k.environ(private, s)
	if err != nil {
		return nil, err
	}
	box, err := k.enter(file, private, s.tree)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	r, err := program.Run(ctx, program.Command{Path: file, Args: []string{"-i", s.file, "--list", "--export"}, Dir: s.dir,
		Env: env, Box: box, Show: []boundary.Path{{Name: private, Write: true}, {Name: s.tree, Write: true}}})
	if box == nil {
		// Kill also the descendants outside the process group; their HOME is below private unless they changed it.
		program.EndLeftovers(private)
	}
	if over := new(program.MemoryError); errors.As(err, &over) {
		return nil, refuse("ansible-inventory failed: %v", over)
	}
	if errors.Is(err, program.ErrTooMuch) {
		return nil, refuse("ansible-inventory wrote more than %d bytes", program.MaxStdout)
	}
	if err != nil {
		return nil, err
	}
	if r.Code != 0 {
		text := strings.NewReplacer(private+"/", "", s.dir+"/", "").Replace(failureReason(string(r.Stderr)))
		secrets := append(secretsOf(s.access), s.secrets...)
		for _, kv := range k.cfg.Environ {
			if name, value, _ := strings.Cut(kv, "="); secretName.MatchString(name) {
				secrets = append(secrets, value)
			}
		}
		how, cause := exited(text, r.Code)
		return nil, refuse("%s", strings.TrimSuffix("ansible-inventory failed"+how+": "+cleanEnd(cause, secrets), ": "))
	}
	return r.Stdout, nil
}

var (
	exitCode  = lazyregexp.New(exitMark + `([0-9]{1,3})`)
	execution = lazyregexp.New(`^Inventory script \([^)]*\) had an execution error: `)
)

// exited returns how a refresh ended, and the cause that was given. The exit code is that of the program, or else that
// of ansible-inventory.
func exited(reason string, code int) (how, cause string) {
	all := exitCode.Get().FindAllStringSubmatchIndex(reason, -1)
	if len(all) == 0 {
		return fmt.Sprintf(" with exit code %d", code), reason
	}
	at := all[len(all)-1]
	cause = execution.ReplaceAllString(reason[:at[0]]+reason[at[1]:], "")
	return ": the program ended with exit code " + reason[at[2]:at[3]], strings.TrimSpace(cause)
}

// enter returns where a program runs, which then owns its private directory and its checkout.
func (k *Collector) enter(file, private, tree string) (*program.Box, error) {
	box, err := program.Enter(k.cfg.Boundary, "", filepath.Dir(private))
	switch {
	case err != nil:
		return nil, err
	case box == nil && !k.cfg.AllowPrograms:
		return nil, refuse("scripts and plugins of sources are not executed without isolation: they could do all that the " +
			"server can; start the executor with --allow-source-programs if they may")
	}
	if closed := box.Sees(file); closed != nil {
		err = refuse("%s", closed.Error())
	}
	for _, dir := range []string{private, tree} {
		if dir != "" && err == nil {
			err = box.Give(dir)
		}
	}
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	return box, nil
}

// environ returns the whole environment of ansible-inventory. The ansible.cfg of the checkout applies, as it does to
// its playbooks, and that of the machine does not. Variables of the source's credential override only those of the
// operator.
func (k *Collector) environ(private string, s source) ([]string, error) {
	home, config := filepath.Join(private, ".home"), filepath.Join(private, ".empty.cfg")
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(config, nil, 0o600)); err != nil {
		return nil, fmt.Errorf("make a private directory: %w", err)
	}
	if fi, err := os.Stat(filepath.Join(s.dir, "ansible.cfg")); err == nil && fi.Mode().IsRegular() {
		config = filepath.Join(s.dir, "ansible.cfg")
	}
	env := []string{
		"PATH=" + k.path, "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "PYTHONUNBUFFERED=1",
		"ANSIBLE_NOCOLOR=1",
		"ANSIBLE_CONFIG=" + config, "ANSIBLE_LOCAL_TEMP=" + filepath.Join(home, "tmp"), "ANSIBLE_LOCALHOST_WARNING=0",
		"ANSIBLE_DEPRECATION_WARNINGS=0", "ANSIBLE_INVENTORY_CACHE=0",
	}
	last := []string{
		"ANSIBLE_INVENTORY_ENABLED=" + s.plugin, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=1",
		"ANSIBLE_INVENTORY_UNPARSED_FAILED=1",
		"ANSIBLE_INVENTORY_EXPORT=1",
	}
	accessEnv, err := environOf(private, s.access, slices.Concat(env, last))
	if err != nil {
		return nil, err
	}
	return slices.Concat(env, k.cfg.Environ, accessEnv, last), nil
}

var (
	marks  = lazyregexp.New(`(?m)^(\[WARNING\]:|\[DEPRECATION WARNING\]:|ERROR!|\[ERROR\]:)`)
	parsed = lazyregexp.New(`Failed to parse .* with .* plugin: `)
)

// failureReason extracts the reason of a source's failure from the output of ansible-inventory. The output is wrapped
// at a width, so messages are joined first. The message that names the plugin contains the reason; the last message is
// generic. From 2.19 on what a script said follows after several sentences.
func failureReason(stderr string) string {
	reason := lastReason(stderr)
	if _, output, _ := strings.Cut(reason, "Standard error from inventory script: "); output != "" {
		return output
	}
	return reason
}

func lastReason(stderr string) string {
	at := marks.Get().FindAllStringIndex(stderr, -1)
	var messages []string
	for i, m := range at {
		end := len(stderr)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		messages = append(messages, strings.Join(strings.Fields(stderr[m[1]:end]), " "))
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if m := parsed.Get().FindStringIndex(messages[i]); m != nil {
			return messages[i][m[1]:]
		}
	}
	if len(messages) > 0 {
		return messages[len(messages)-1]
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	return lines[len(lines)-1]
}
