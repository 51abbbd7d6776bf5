package ansible

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
)

// job is one run of Ansible with its private files.
type job struct {
	dir       string // below the run's directory
	home      string
	remove    string // a directory elsewhere, which is removed at the end
	sockets   string // its path inside: the connection sockets, since their paths must be short
	workDir   string
	playbook  string // absolute
	args      []string
	env       map[string]string
	pipelined bool
	dryRun    bool
}

func (j *job) path(name string) string { return filepath.Join(j.dir, name) }

// close removes the sockets' directory. The ssh connection masters ended with the run's processes.
func (j *job) close() { _ = os.RemoveAll(j.remove) }

// prepare writes the private files of a run and computes its arguments and environment. An unusable playbook is a
// refusal, a control that must not reach Ansible an Invalid fault.
func (t *Tool) prepare(ctx context.Context, spec extension.ToolSpec, p execution.Play) (*job, error) {
	playbook, err := resolve(p)
	ping := err != nil && p.Playbook == execution.PingPlaybook && !p.Confined
	if err != nil && !ping {
		return nil, err
	}
	if err := confineInventory(p); err != nil {
		return nil, err
	}
	inside := proc.InsideOf(ctx)
	if err := visible(inside, p, playbook); err != nil {
		return nil, err
	}
	j := &job{dir: filepath.Join(spec.Dir, "ansible"), home: inside.Home(t.config.Home), workDir: p.WorkDir,
		playbook: playbook, dryRun: spec.DryRun}
	if ping {
		j.playbook = j.path("ping.yml")
	}
	if j.args, err = j.arguments(spec, p); err != nil {
		return nil, err
	}
	for _, d := range []string{j.path("tmp"), j.path("home")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("ansible: make the run's folders: %w", err)
		}
	}
	if ping {
		if err := os.WriteFile(j.playbook, []byte(pingPlay), 0o600); err != nil {
			return nil, fmt.Errorf("ansible: write the playbook: %w", err)
		}
	}
	vars, err := unsafeJSON(hostKeyVariables(spec.ExtraVars, p.HostKeys), p.Templated)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(j.path(varsFile), vars, 0o600); err != nil {
		return nil, fmt.Errorf("ansible: write the extra variables: %w", err)
	}
	if p.LimitHosts != nil {
		lines, err := limitLines(p.Limit, p.LimitHosts)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(j.path(limitFile), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			return nil, fmt.Errorf("ansible: write the host list: %w", err)
		}
	}
	c := findCfg(spec.Env, p.WorkDir)
	if err := j.hostKeyPrograms(spec.Env, c, p.HostKeys); err != nil {
		return nil, fmt.Errorf("ansible: write the programs of ssh: %w", err)
	}
	if err := inside.Give(j.dir); err != nil {
		return nil, fmt.Errorf("ansible: hand the run its folders: %w", err)
	}
	if j.remove, j.sockets, err = inside.TempDir(t.config.SocketBase, "w"); err != nil {
		return nil, fmt.Errorf("ansible: make the folder for connections: %w", err)
	}
	j.env, j.pipelined = t.environment(ctx, j, spec.Env, p, c)
	return j, nil
}

const (
	varsFile  = "vars.json"
	limitFile = "limit"
)

// pingPlay is the content of execution.PingPlaybook.
const pingPlay = `- name: Ping
  hosts: all
  gather_facts: false
  tasks:
    - name: Ping
      ansible.builtin.ping:
`

// refusal is a reason not to start a play that counts as the run's failure, not as an error of the tool.
type refusal string

func (r refusal) Error() string { return string(r) }

// visible refuses a play whose files its boundary does not show.
func visible(inside *proc.Inside, p execution.Play, playbook string) error {
	paths := []string{p.WorkDir, playbook}
	if p.Inventory != "" && !strings.Contains(p.Inventory, ",") {
		path := p.Inventory
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.WorkDir, path)
		}
		paths = append(paths, path)
	}
	for _, path := range append(paths, p.Roles, p.Collections) {
		if path == "" {
			continue
		}
		if err := inside.Sees(path); err != nil {
			text := err.Error()
			return refusal(strings.ToUpper(text[:1]) + text[1:] + ".")
		}
	}
	return nil
}

// resolve returns the playbook's absolute path.
func resolve(p execution.Play) (string, error) {
	if p.Playbook == "" || strings.ContainsRune(p.Playbook, 0) {
		return "", refusal("The run names no playbook.")
	}
	path := p.Playbook
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.WorkDir, path)
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", refusal(fmt.Sprintf("The playbook %s does not exist.", p.Playbook))
	}
	if err != nil {
		return "", refusal(fmt.Sprintf("The playbook %s cannot be read.", p.Playbook))
	}
	if p.Confined {
		root, err := realRoot(p)
		if err != nil {
			return "", err
		}
		// Both the name and its target are checked: Ansible looks for roles in the directory of the name.
		if !inside(root, real) || !inside(p.WorkDir, path) && !inside(root, path) {
			return "", refusal(fmt.Sprintf("The playbook %s lies outside of the project.", p.Playbook))
		}
	}
	if fi, err := os.Stat(real); err != nil || !fi.Mode().IsRegular() {
		return "", refusal(fmt.Sprintf("The playbook %s is not a file.", p.Playbook))
	}
	return path, nil
}

func realRoot(p execution.Play) (string, error) {
	root, err := filepath.EvalSymlinks(p.WorkDir)
	if err != nil {
		return "", fmt.Errorf("ansible: the work directory: %w", err)
	}
	return root, nil
}

// confineInventory refuses an inventory outside of the directory that confines the play. A text that is no file is a
// list of hosts or a missing file, which Ansible reports. Ansible replaces a ~ and variables of the environment, unless
// the text has a comma.
func confineInventory(p execution.Play) error {
	if !p.Confined || p.OwnInventory || p.Inventory == "" || strings.ContainsRune(p.Inventory, 0) {
		return nil
	}
	outside := refusal(fmt.Sprintf("The inventory %s lies outside of the project.", p.Inventory))
	list := strings.Contains(p.Inventory, ",")
	if !list && (strings.HasPrefix(p.Inventory, "~") || strings.Contains(p.Inventory, "$")) {
		return outside
	}
	path := p.Inventory
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.WorkDir, path)
	}
	root, err := realRoot(p)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil && !inside(root, real), err != nil && !list && !errors.Is(err, os.ErrNotExist),
		!list && !inside(p.WorkDir, filepath.Clean(path)) && !inside(root, filepath.Clean(path)):
		return outside
	default:
		return nil
	}
}

func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// maxVerbosity is the highest level that Ansible distinguishes.
const maxVerbosity = 6

// arguments returns the arguments of ansible-playbook. Each control is one argument, whatever its value.
func (j *job) arguments(spec extension.ToolSpec, p execution.Play) ([]string, error) {
	if err := refuse("inventory", p.Inventory); err != nil {
		return nil, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return nil, err
	}
	if err := checkLogin(p.Login); err != nil {
		return nil, err
	}
	for _, tag := range append(append([]string{}, p.Tags...), p.SkipTags...) {
		if err := refuse("tag", tag); err != nil {
			return nil, err
		}
	}
	args := j.selection(p)
	if len(p.Tags) > 0 {
		args = append(args, "--tags="+strings.Join(p.Tags, ","))
	}
	if len(p.SkipTags) > 0 {
		args = append(args, "--skip-tags="+strings.Join(p.SkipTags, ","))
	}
	if p.Forks > 0 {
		args = append(args, "--forks="+strconv.Itoa(p.Forks))
	}
	if v := min(p.Verbosity, maxVerbosity); v > 0 {
		args = append(args, "-"+strings.Repeat("v", v))
	}
	if spec.DryRun {
		args = append(args, "--check")
	}
	if spec.DryRun || p.Diff || p.DiffMode {
		args = append(args, "--diff")
	}
	args = append(args, loginArguments(p.Login)...)
	return append(args, "--extra-vars=@"+j.path(varsFile), j.playbook), nil
}

// selection returns the arguments that select the hosts.
func (j *job) selection(p execution.Play) []string {
	var args []string
	if p.Inventory != "" {
		args = append(args, "--inventory="+p.Inventory)
	}
	switch {
	case p.LimitHosts != nil:
		args = append(args, "--limit=@"+j.path(limitFile))
	case p.Limit != "":
		args = append(args, "--limit="+p.Limit)
	}
	return args
}

// command returns one of Ansible's programs with the job's environment.
func (j *job) command(path string, args ...string) proc.Command {
	return proc.Command{Path: path, Args: args, Dir: j.workDir, Env: proc.Environ(j.env)}
}
