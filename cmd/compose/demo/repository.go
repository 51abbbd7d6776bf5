package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoGit means that this machine has no git, so that the demo has no project.
var ErrNoGit = errors.New("git is not installed")

// MakeRepository makes a git repository with the playbooks of the demo in a new directory.
func MakeRepository(ctx context.Context, dir string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return ErrNoGit
	}
	for name, text := range files() {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	const at = "2026-01-05T09:00:00Z" // fixed, so that the commit is the same in each demo
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=" + at,
		"GIT_COMMITTER_DATE=" + at, "GIT_AUTHOR_NAME=Ada Reyes", "GIT_AUTHOR_EMAIL=ada.reyes@example.com",
		"GIT_COMMITTER_NAME=Ada Reyes", "GIT_COMMITTER_EMAIL=ada.reyes@example.com"}
	for _, args := range []string{"init -q -b main .", "add .", "commit -q -m Begin"} {
		c := exec.CommandContext(ctx, git, strings.Fields(args)...)
		c.Dir, c.Env = dir, env
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args, err, out)
		}
	}
	return nil
}

// files are the files of the repository.
func files() map[string]string {
	out := map[string]string{
		"README.md":           "# Site\n\nThe playbooks of the demo.\n",
		"ansible.cfg":         "[defaults]\nforks = 20\n",
		"group_vars/web.yml":  "http_port: 443\nworkers: 4\n",
		"group_vars/api.yml":  "release: 4.12.0\n",
		"inventories/dev.ini": "[web]\nweb-eu-9001\n",
	}
	for _, b := range playbooks() {
		var text strings.Builder
		text.WriteString("---\n")
		for _, p := range b.plays {
			roles := []string{}
			for _, t := range p.tasks {
				if !slices.Contains(roles, t.role()) {
					roles = append(roles, t.role())
				}
			}
			fmt.Fprintf(&text, "- name: %s\n  hosts: %s\n  become: true\n  roles: [%s]\n", p.name, b.hosts,
				strings.Join(roles, ", "))
			for _, role := range roles {
				out["roles/"+role+"/tasks/main.yml"] = roleFile(role, p.tasks)
			}
		}
		out[b.file] = text.String()
	}
	return out
}

// roleFile writes the tasks of a role; each takes six lines, at which the events point.
func roleFile(role string, tasks []task) string {
	var b strings.Builder
	b.WriteString("---\n")
	for _, t := range tasks {
		if t.role() != role {
			continue
		}
		_, what, _ := strings.Cut(t.resource, " ")
		_, name, _ := strings.Cut(t.name, " : ")
		fmt.Fprintf(&b, "- name: %s\n  %s:\n    name: %s\n  tags:\n    - %s\n\n", name, t.action, what, role)
	}
	return b.String()
}
