package engine

import (
	"io"
	"os"

	"github.com/writ-automation/writ/modules/execution/internal/hostkeys"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// hostKeys are the keys of hosts that a run knows.
type hostKeys struct {
	play   execution.HostKeys
	before []byte // what the run's own known hosts begin with
}

// bringHostKeys writes the run's own known hosts: those of its inventory, else those of the executor's account. Other
// programs than plays use them only if they are in the home directory of an account of the run's own.
func (w *work) bringHostKeys(i catalog.InventoryText) (err error) {
	k := &w.hostKeys
	k.before = i.KnownHosts
	if len(k.before) == 0 {
		k.before = accountHostKeys(w.e.opt.KnownHosts)
	}
	own := false
	if w.enclosed != nil {
		_, _, own = w.enclosed.Owner()
	}
	if w.run.Spec.Playbook == "" && (!own || len(k.before) == 0) {
		return nil
	}
	k.play = execution.HostKeys{
		Strict:   i.HostKeyPolicy != "" && i.HostKeyPolicy != catalog.AcceptNew,
		Enforced: w.run.Spec.InventoryID != "", Alone: len(i.KnownHosts) > 0,
	}
	k.play.File, err = w.dir.WriteKnownHosts(k.before)
	return err
}

// accountHostKeys returns the content of a file, nil if it cannot be read or is too large: to the run its hosts are
// then unknown.
func accountHostKeys(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, catalog.MaxKnownHosts+1))
	if err != nil || len(text) > catalog.MaxKnownHosts {
		return nil
	}
	return text
}

// accepted adds the keys of hosts that the run accepted.
func (w *work) accepted(end *runs.Ending) {
	if w.hostKeys.play.File == "" {
		return
	}
	after, err := w.dir.ReadKnownHosts()
	if err != nil {
		w.e.Log.Warn("read which host keys a run accepted", "run", w.lease.RunID, "error", err)
		return
	}
	keys, omitted := hostkeys.Accepted(w.hostKeys.before, after)
	for i := range keys {
		keys[i].Host = w.masker.String(keys[i].Host)
	}
	if end.AcceptedHostKeys = keys; omitted > 0 {
		end.Warnings = warn(end.Warnings, runs.WarnHostKeysOmitted, "%d more host keys were accepted than the record has",
			omitted)
	}
}
