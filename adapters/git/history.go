package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/plaintext"
)

// The bounds of the texts of a commit in characters.
const (
	maxAuthor  = 100
	maxSubject = 200
)

var _ catalog.Histories = (*Checkouts)(nil)

func (k *Checkouts) Commits(
	ctx context.Context, r catalog.Repository, commit, from, to string,
) (catalog.CommitLog, error) {
	if from == "" {
		return catalog.CommitLog{}, fault.BadField("from", "expected a branch, a tag or a commit")
	}
	for field, ref := range map[string]string{"from": from, "to": to} {
		if ref != "" && !isShort(ref) {
			if err := checkRef(field, ref); err != nil {
				return catalog.CommitLog{}, err
			}
		}
	}
	if isCommit(to) {
		commit = to // it is fetched if the mirror lacks it
	}
	p, base, _, err := k.open(ctx, r, commit, "", from)
	if err != nil {
		return catalog.CommitLog{}, err
	}
	defer p.readGate.unlock()
	if to == "" {
		to = commit
	}
	tip, err := k.resolve(ctx, p.mirror, to)
	if err != nil {
		return catalog.CommitLog{}, err
	}
	return k.between(ctx, p.mirror, base, tip)
}

// between compares two commits of a mirror.
func (k *Checkouts) between(ctx context.Context, mirror, from, to string) (catalog.CommitLog, error) {
	l := catalog.CommitLog{From: from, To: to}
	out, err := k.run(ctx, task{gitDir: mirror, args: []string{"rev-list", "--left-right", "--count", from + "..." + to}})
	if err != nil {
		return l, k.treeFailed(err)
	}
	if _, err := fmt.Sscan(string(out), &l.Missing, &l.Total); err != nil {
		return l, fmt.Errorf("count commits: %w", errEntry)
	}
	if l.Total == 0 {
		return l, nil
	}
	out, err = k.run(ctx, task{gitDir: mirror, args: []string{"log", "-z", "--no-notes", "--no-mailmap",
		"--no-show-signature", "--max-count=" + strconv.Itoa(catalog.MaxCommits), "--format=%H%n%ct%n%an%n%s",
		from + ".." + to}})
	if err != nil {
		return l, k.treeFailed(err)
	}
	for text := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		f := strings.SplitN(text, "\n", 4)
		if len(f) != 4 || !isCommit(f[0]) {
			return l, fmt.Errorf("read commits: %w", errEntry)
		}
		at, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return l, fmt.Errorf("read commits: %w", errEntry)
		}
		l.Commits = append(l.Commits, catalog.Commit{ID: f[0], At: time.Unix(at, 0).UTC(),
			Author: plaintext.Line(f[2], maxAuthor), Subject: plaintext.Line(f[3], maxSubject)})
	}
	return l, nil
}
