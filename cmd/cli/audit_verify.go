package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof"
)

// exitUnpinned means that a file is intact but its signer is not trusted.
const exitUnpinned = proof.ExitUnpinned

// maxSealFile bounds a seal and a file of known logs.
const maxSealFile = 1 << 20

type verifyFlags struct {
	install
	conn                   connection
	keys, witnesses        []string
	from, seal, pin, roots string
}

func verifyCommand(w environment) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use: "verify [FILE|RUN]", Short: "Verify a bundle, a receipt, evidence, or the chain of a database",
		Args:    args(cobra.MaximumNArgs(1)),
		Example: "  writ audit verify bundle.json --seal seal.json\n  writ audit verify latest --pin known",
		Long: "Verifies a bundle of the audit chain, the receipt of a run, or evidence with receipts in it (of a run, or\n" +
			"the report of a change, as JSON or HTML), without network and database; - is standard input. The lines\n" +
			"\"not checked\" say what a file cannot prove, and what of a document no receipt covers. A run in place of\n" +
			"a file, by its id or as latest, stands for its receipt, which the server is asked for. Without a file it\n" +
			"verifies the chain of the database and its anchors. Each of --key, --seal and --pin must agree.\n\n" +
			"Exit codes: 0 verified with a trusted key, 1 not verified, 2 usage error or unreadable input or output,\n" +
			"3 intact, but without a trusted key.",
	}
	f.register(c)
	f.conn.register(w, c)
	w.conn = &f.conn
	c.ValidArgsFunction = orFiles(completeArguments(w, "run"))
	c.Flags().StringArrayVar(&f.keys, "key", nil,
		"verifier `VKEY` that must have signed, as seal.json names it; may be repeated")
	c.Flags().StringVar(&f.seal, "seal", "", "seal.json as a `file`: its keys must have signed")
	c.Flags().StringVar(&f.pin, "pin", "",
		"`file` of known keys and heads: the first use writes it, every later one must agree")
	c.Flags().StringVar(&f.from, "from", "", "head `SIZE:ROOT` that the chain must continue, with the root in base64")
	c.Flags().StringVar(&f.roots, "tsa-roots", "", "PEM `file` of certificates of the trusted time-stamping authorities")
	c.Flags().StringArrayVar(&f.witnesses, "witness-key", nil,
		"verifier `VKEY` of a witness whose cosignatures count; may be repeated")
	provided := func(name string) bool { return c.Flags().Changed(name) }
	return printCommand(w, c, func(ctx context.Context, a []string, out printer) error {
		for name, value := range map[string]string{"seal": f.seal, "pin": f.pin, "from": f.from} {
			if provided(name) && value == "" { // such as an unset variable: the requirement must not be dropped silently
				return usagef("--%s is empty", name)
			}
		}
		switch {
		case len(a) == 0:
			return f.verifyChain(ctx, out)
		case provided("db") || provided("data-dir") || provided("config") || provided("signing-key-file"):
			return usagef("give a file or --db, not both: a file is verified without an install")
		}
		return f.verifyFile(ctx, out, a[0])
	})
}

// trusted reads the keys and heads of the flags.
func (f *verifyFlags) trusted() (proof.Trust, error) {
	t := proof.Trust{VKeys: f.keys, Witnesses: f.witnesses}
	if f.from != "" {
		h, err := proof.ParseHead(f.from)
		if err != nil {
			return t, usagef("--from: %s", err)
		}
		t.From = &h
	}
	var err error
	if f.roots != "" {
		if t.TSARoots, err = small(f.roots); err != nil {
			return t, usagef("--tsa-roots: %s", oneLine(err.Error(), maxDetail))
		}
	}
	if f.seal != "" {
		if t.Seal, err = small(f.seal); err != nil {
			return t, usagef("--seal: %s", oneLine(err.Error(), maxDetail))
		}
	}
	if f.pin != "" {
		if t.Known, err = small(f.pin); err != nil && !errors.Is(err, os.ErrNotExist) {
			return t, usagef("--pin: %s", oneLine(err.Error(), maxDetail))
		}
		if t.Known == nil {
			t.Known = []byte{} // the first contact: an empty file of known logs still requires the check
		}
	}
	return t, nil
}

// small reads a file of bounded size.
func small(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // the caller names the path
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, maxSealFile+1))
	if err == nil && len(raw) > maxSealFile {
		err = fmt.Errorf("%s is too large", name)
	}
	return raw, err
}

func (f *verifyFlags) verifyFile(ctx context.Context, out printer, name string) error {
	w := out.environment
	trusted, err := f.trusted()
	if err != nil {
		return err
	}
	in, done, err := f.open(ctx, w, name)
	if err != nil {
		return usagef("%s", oneLine(err.Error(), maxDetail))
	}
	defer done()
	v, err := proof.VerifyFile(ctx, bufio.NewReaderSize(in, 256<<10), trusted, clock.New().Now())
	if err != nil {
		return usagef("%s: %s", oneLine(name, maxDetail), oneLine(err.Error(), maxDetail))
	}
	pinErr := f.remember(trusted, name, v)
	if err := printVerdict(out, v); err != nil {
		return err
	}
	return f.end(w, v, pinErr, true)
}

// remember records the log of the verdict if a flag requires it.
func (f *verifyFlags) remember(trusted proof.Trust, name string, v proof.Verdict) error {
	switch {
	case f.pin == "":
	case v.OK:
		return remember(f.pin, trusted.Known, func(known []byte) ([]byte, error) { return proof.Pin(known, v) })
	case len(v.Conflict) == 2:
		return saveConflict(f.pin, name, v)
	}
	return nil
}

// end ends the command with the exit code of the verdict, after it was printed. Without trusted keys or heads, a pin is
// not required unless a flag demands it.
func (f *verifyFlags) end(w environment, v proof.Verdict, pinErr error, pinned bool) error {
	switch {
	case pinErr != nil && v.OK:
		return usagef("--pin: %s", oneLine(pinErr.Error(), maxDetail))
	case pinErr != nil:
		_, _ = fmt.Fprintf(w.err, "writ: --pin: %s\n", oneLine(pinErr.Error(), maxDetail))
		return errSilent
	case !v.OK:
		return errSilent
	case !v.Pinned && pinned:
		return exitCode(exitUnpinned)
	}
	return nil
}

// chainView is the verdict over a database as --json shows it.
type chainView struct {
	proof.Verdict
	Head     string `json:"head"`
	Anchored int64  `json:"anchored"`
}

// verifyChain checks the chain of a database.
func (f *verifyFlags) verifyChain(ctx context.Context, out printer) error {
	w := out.environment
	trusted, err := f.trusted()
	if err != nil {
		return err
	}
	var v audit.ChainVerdict
	err = f.with(ctx, w, func(ctx context.Context, t *compose.Trail) (err error) {
		v, err = t.Prover.Verify(ctx, trusted)
		return err
	})
	if err != nil {
		// An unreadable chain is not an invalid one: scripts must be able to distinguish the exit codes.
		return usageError{err}
	}
	pinErr := f.remember(trusted, "the database", v.Verdict)
	if out.json {
		err = out.document(chainView{v.Verdict, fmt.Sprintf("%x", v.Head), v.Anchored})
	} else {
		err = printChain(w, v)
	}
	if err != nil {
		return err
	}
	return f.end(w, v.Verdict, pinErr, len(f.keys) > 0 || f.seal != "" || f.pin != "")
}

// open opens a file, or the receipt of a run that has the name of no file.
func (f *verifyFlags) open(ctx context.Context, w environment, name string) (in io.Reader, done func(), err error) {
	if name == "-" {
		return w.in, func() {}, nil
	}
	file, err := os.Open(name) //nolint:gosec // the caller names the path
	if err == nil {
		return file, func() { _ = file.Close() }, nil
	}
	if !errors.Is(err, os.ErrNotExist) || name != latestRun && !ids.Valid(ids.Run, name) {
		return nil, nil, err
	}
	c, err := f.conn.client(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	run, err := c.runID(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	receipt, err := c.fetch(ctx, runPath(run, "/receipt"), nil)
	return bytes.NewReader(receipt), func() {}, err
}
