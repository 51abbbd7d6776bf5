package git

import (
	"bytes"
	"context"
	"errors"
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
)

func (k *Checkouts) Playbooks(ctx context.Context, r catalog.Repository, commit string) (map[string][]byte, error) {
	p, at, _, err := k.open(ctx, r, commit, "", "")
	if err != nil {
		return nil, err
	}
	defer p.readGate.unlock()
	var names []string
	var ids bytes.Buffer
	total := int64(0)
	sink := &entrySink{each: func(e entry) error {
		ext := path.Ext(e.name)
		if ext != ".yml" && ext != ".yaml" || e.mode == modeLink || e.mode == modeSub || e.size > maxPlaybook {
			return nil
		}
		if total += e.size; len(names) == maxPlaybooks || total > maxPlaybookBytes {
			return errFull
		}
		names = append(names, e.name)
		ids.WriteString(e.id + "\n")
		return nil
	}}
	_, err = k.run(ctx, task{gitDir: p.mirror, args: []string{"ls-tree", "-r", "-l", "-z", at}, sink: sink})
	if sink.err != nil && !errors.Is(sink.err, errFull) {
		return nil, fmt.Errorf("list the files of a commit: %w", sink.err)
	}
	if err != nil && sink.err == nil {
		return nil, k.treeFailed(err)
	}
	out, err := k.run(ctx, task{gitDir: p.mirror, args: []string{"cat-file", "--batch=%(objectsize)"}, stdin: ids.Bytes()})
	if err != nil {
		return nil, k.treeFailed(err)
	}
	return contents(names, out)
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
