package projects

import (
	"context"
	"path"
	"strconv"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
)

const (
	noProjectsText = "A project is a git repository with playbooks for runs, by an address such as this one:"
	readmeCutText  = "Shown are the first 64 KiB of the readme."
)

func listText(list []catalog.Project, total int) string {
	failed := 0
	for _, p := range list {
		if p.LastError != "" {
			failed++
		}
	}
	if total == 0 {
		return "No project is registered that you may read."
	}
	text := shell.Plural(total, "project")
	if total > len(list) {
		text += ", the first " + shell.Count(len(list)) + " by name are listed"
	}
	switch failed {
	case 0:
		return text + "; the last synchronization of none failed."
	case 1:
		return text + "; the last synchronization of 1 failed, so its files are of an earlier commit."
	}
	return text + "; the last synchronization of " + shell.Count(failed) +
		" failed, so their files are of earlier commits."
}

func syncState(p catalog.Project) shell.State {
	switch {
	case p.LastError != "":
		return shell.State{Glyph: "fail", Word: "Sync failed"}
	case p.Commit == "":
		return shell.State{Glyph: "wait", Word: "Not synced yet"}
	}
	return shell.State{Glyph: "done", Word: "Synced"}
}

const shownCommit = 10

func shortCommit(c string) string { return c[:min(len(c), shownCommit)] }

// projectText is the sentence of a project.
func projectText(ctx context.Context, p catalog.Project) string {
	switch {
	case p.LastError != "" && p.Commit != "":
		return "The last synchronization failed; launches use commit " + shortCommit(p.Commit) + ", synced " +
			shell.When(ctx, p.SyncedAt) + "."
	case p.LastError != "":
		return "It was never synced: the last synchronization failed."
	case p.Commit == "":
		return "The first synchronization is not over."
	}
	return "Synced " + shell.When(ctx, p.SyncedAt) + "; a launch would use commit " + shortCommit(p.Commit) + "."
}

func branchText(b string) string {
	if b == "" {
		return "the default one of the repository"
	}
	return b
}

func depsText(install bool) string {
	if install {
		return "roles and collections are installed"
	}
	return "none are installed"
}

func hintPlace(x catalog.Hint) string {
	if x.Line == 0 {
		return x.Path
	}
	return x.Path + ":" + strconv.Itoa(x.Line)
}

func lineAnchor(n int) string {
	if n == 0 {
		return ""
	}
	return "#L" + strconv.Itoa(n)
}

// filesText is the sentence of a file or a directory.
func filesText(v filesView) string {
	at := " at commit " + shortCommit(v.Commit) + "."
	if !v.File {
		return shell.Plural(len(v.Entries)+v.More, "entry", "entries") + at
	}
	text := shell.Bytes(int64(v.Size))
	if v.Binary {
		return text + at
	}
	text += ", " + shell.Plural(v.Total, "line")
	switch {
	case v.Language != "":
		text += " of " + map[string]string{"yaml": "YAML", "ini": "INI", "jinja": "Jinja", "shell": "shell",
			"python": "Python"}[v.Language]
	case v.Size > maxColours:
		text += " without colours, which files up to " + shell.Bytes(maxColours) + " get"
	}
	return text + at
}

func moreEntriesText(n int) string {
	return shell.Plural(n, "entry", "entries") + " more, which writ api GET /v1/projects/ID/files lists."
}

func linesText(v filesView) string {
	return "Lines " + shell.Count(v.From) + " to " + shell.Count(v.From+len(v.Lines)-1) + " of " + shell.Count(v.Total)
}

func before(v filesView) string {
	if v.From == 1 {
		return ""
	}
	return v.fromLine(max(1, v.From-lineStep))
}

func after(v filesView) string {
	if v.From+len(v.Lines) > v.Total {
		return ""
	}
	return v.fromLine(v.From + len(v.Lines))
}

func parent(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}
