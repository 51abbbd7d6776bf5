package prove

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// state is what everything that is handed out stands on: a signed head, who the install is, and what signs statements.
type state struct {
	install.Head
	id     install.Identity
	signer keys.Signer
	keyID  string
}

// maxStates is how often a head is signed anew where keys or an epoch changed meanwhile.
const maxStates = 4

// state signs the present head. Faults are those of the install, and Unavailable where keys or epochs keep changing.
func (p *Prover) state(ctx context.Context) (s state, err error) {
	for range maxStates {
		if s.Head, err = p.p.Install.Checkpoint(ctx); err != nil {
			return s, err
		}
		if s.id, err = p.p.Install.Identity(ctx); err != nil {
			return s, err
		}
		if _, s.signer, err = p.p.Install.Signers(ctx); err != nil {
			return s, err
		}
		k, err := keys.NewKey(s.signer.Public(), keys.Statement, "")
		if err != nil {
			return s, fmt.Errorf("the statement key: %w", err)
		}
		if s.keyID = k.ID; s.id.Epoch.N == s.Epoch && s.admits() {
			return s, nil
		}
	}
	return s, fault.Wrap(fault.Unavailable, nil, "the keys or the epoch of the audit trail have just changed: ask again")
}

// admits reports whether the statement key speaks for the size of the head: the keys may have been rotated after it
// was signed.
func (s *state) admits() bool {
	for _, k := range s.id.Keys {
		if k.ID == s.keyID {
			return k.Admit(s.Size) == nil
		}
	}
	return false
}

// inclusion returns a proof that leads from the leaf to the head.
func (p *Prover) inclusion(ctx context.Context, s *state, seq int64, hash tree.Hash) ([]tree.Hash, error) {
	hashes, err := p.p.Tree.Inclusion(ctx, seq, s.Size)
	if err != nil {
		return nil, fmt.Errorf("prove entry %d: %w", seq, err)
	}
	if err := tree.VerifyInclusion(hash, uint64(seq-1), uint64(s.Size), hashes, s.Root); err != nil { //nolint:gosec // the tree has seq
		return nil, changed(seq, seq).Because(err)
	}
	return hashes, nil
}

// grown returns a proof that the head's tree begins with another one. A chain that does not is Unsatisfied.
func (p *Prover) grown(ctx context.Context, s *state, problem proof.AnchorProblem, root tree.Hash) ([]tree.Hash, error) {
	if problem.Size > s.Size {
		return nil, p.unsatisfied(s, problem, proof.TailMissing)
	}
	hashes, err := p.p.Tree.Consistency(ctx, problem.Size, s.Size)
	if err != nil {
		return nil, fmt.Errorf("prove that the audit trail goes on from %d entries: %w", problem.Size, err)
	}
	if err := tree.VerifyConsistency(uint64(problem.Size), uint64(s.Size), root, s.Root, hashes); err != nil { //nolint:gosec // neither is negative
		return nil, p.unsatisfied(s, problem, proof.RootMismatch)
	}
	return hashes, nil
}

func (p *Prover) unsatisfied(s *state, problem proof.AnchorProblem, what string) *fault.Error {
	problem.Problem = what
	v := audit.ChainVerdict{Verdict: proof.Verdict{Count: s.Size, AnchorProblems: []proof.AnchorProblem{problem}}}
	text := fmt.Sprintf("the audit trail of %d entries does not satisfy a head of %d", s.Size, problem.Size)
	return detailed(audit.Unsatisfied, v, text)
}

// changed is the fault of an entry that is not the one that was verified.
func changed(at, seq int64) *fault.Error {
	v := audit.ChainVerdict{Verdict: proof.Verdict{BrokeAt: at, BrokeSeq: seq, AnchorProblems: []proof.AnchorProblem{}}}
	return detailed(audit.Broken, v, fmt.Sprintf("entry %d of the audit trail is not the one that was verified", seq))
}

// links holds entries that are read to the ones before them.
type links struct {
	next int64 // the number that is due
	prev tree.Hash
	any  bool // no entry was read before: prev is not known
}

// take checks an entry and returns its leaf.
func (l *links) take(e *audit.Stored) (leaf.Leaf, tree.Hash, error) {
	got, err := leaf.ScanText(e.Leaf)
	if err != nil || got.Seq != l.next || e.Seq != l.next || !l.any && got.Prev != l.prev {
		return leaf.Leaf{}, tree.Hash{}, changed(l.next, e.Seq).Because(err)
	}
	l.next, l.prev, l.any = l.next+1, leaf.HashText(e.Leaf), false
	return got, l.prev, nil
}

// open returns the disclosures of an entry, which have to be those that were recorded, as has the detail: a file with
// others would not verify.
func open(e *audit.Stored, l *leaf.Leaf) ([]string, error) {
	if _, _, err := opened(e, l); err != nil {
		return nil, changed(e.Seq, e.Seq).Because(err)
	}
	return e.Disclosures, nil
}

func digest(sum [32]byte) string { return "sha256:" + hex.EncodeToString(sum[:]) }
