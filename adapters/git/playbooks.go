package git

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strconv"

	"github.com/writ-automation/writ/ports/catalog"
)

// Bounds of the YAML files of one commit: further files, and longer ones, are left out.
const (
	maxPlaybooks     = 2000
	maxPlaybook      = 256 << 10
	maxPlaybookBytes = 16 << 20
	maxLinks         = 10_000 // a commit with more is not searched for links that lead out
)

func (k *Checkouts) Playbooks(
	ctx context.Context, r catalog.Repository, commit string,
) (files map[string][]byte, leaving []string, err error) {
	p, at, _, err := k.open(ctx, r, commit, "", "")
	if err != nil {
		return nil, nil, err
	}
	defer p.readGate.unlock()
	var found, links blobs
	total := int64(0)
	sink := &entrySink{each: func(e entry) error {
		if e.mode == modeLink && e.size <= maxPath && len(links.names) <= maxLinks {
			links.add(e)
		}
		ext := path.Ext(e.name)
		if ext != ".yml" && ext != ".yaml" || e.mode == modeLink || e.mode == modeSub || e.size > maxPlaybook {
			return nil
		}
		if len(found.names) < maxPlaybooks && total+e.size <= maxPlaybookBytes {
			total += e.size
			found.add(e)
		}
		return nil
	}}
	_, err = k.run(ctx, task{gitDir: p.mirror, args: []string{"ls-tree", "-r", "-l", "-z", at}, sink: sink})
	if sink.err != nil {
		return nil, nil, fmt.Errorf("list the files of a commit: %w", sink.err)
	}
	if err != nil {
		return nil, nil, k.treeFailed(err)
	}
	if files, err = k.read(ctx, p.mirror, found); err != nil || len(links.names) == 0 || len(links.names) > maxLinks {
		return files, nil, err
	}
	targets, err := k.read(ctx, p.mirror, links)
	for _, name := range links.names {
		if leaves(name, func(at string) (string, bool) { target, ok := targets[at]; return string(target), ok }) {
			leaving = append(leaving, name)
		}
	}
	return files, leaving, err
}

// blobs are files of a commit: their paths, and their ids on lines.
type blobs struct {
	names []string
	ids   bytes.Buffer
}

func (b *blobs) add(e entry) {
	b.names = append(b.names, e.name)
	b.ids.WriteString(e.id + "\n")
}

// read returns the texts of files by path.
func (k *Checkouts) read(ctx context.Context, mirror string, b blobs) (map[string][]byte, error) {
	out, err := k.run(ctx, task{gitDir: mirror, args: []string{"cat-file", "--batch=%(objectsize)"}, stdin: b.ids.Bytes()})
	if err != nil {
		return nil, k.treeFailed(err)
	}
	return contents(b.names, out)
}

// contents takes apart the output of cat-file: for each file its size on a line, then its text and a line break.
func contents(names []string, out []byte) (map[string][]byte, error) {
	files := make(map[string][]byte, len(names))
	for _, name := range names {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		size, err := strconv.Atoi(string(head))
		if err != nil || size < 0 || size >= len(rest) {
			return nil, fmt.Errorf("read the files of a commit: %w", errEntry)
		}
		files[name], out = rest[:size:size], rest[size+1:]
	}
	return files, nil
}
