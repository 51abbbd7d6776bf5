package prove

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// state is the basis of every file: a signed head, the identity of the install, and the signer of statements.
type state struct {
	install.Head
	id     install.Identity
	signer keys.Signer
	keyID  string
}

// maxStates bounds the attempts to sign a head while keys or an epoch change.
const maxStates = 4

// state signs the current head. Its faults are those of the install, and Unavailable if keys or epochs keep changing.
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
	return s, fault.Wrap(fault.Unavailable, nil, "the keys or the epoch of the audit trail have just changed: try again")
}

// admits reports whether the statement key is valid for the size of the head: the keys may have been rotated after the
// head was signed.
func (s *state) admits() bool {
	for _, k := range s.id.Keys {
		if k.ID == s.keyID {
			return k.Admit(s.Size) == nil
		}
	}
	return false
}

// inclusion returns the inclusion proof of a leaf in the head's tree.
func (p *Prover) inclusion(ctx context.Context, s *state, seq int64, hash tree.Hash) ([]tree.Hash, error) {
	hashes, err := p.p.Tree.Inclusion(ctx, seq, s.Size)
	if err != nil {
		return nil, fmt.Errorf("prove entry %d: %w", seq, err)
	}
	//nolint:gosec // the tree has seq
	if err := tree.VerifyInclusion(hash, uint64(seq-1), uint64(s.Size), hashes, s.Root); err != nil {
		return nil, changed(seq, seq).Because(err)
	}
	return hashes, nil
}

// grown returns a proof that the head's tree begins with another tree. If it does not, the error is Unsatisfied.
func (p *Prover) grown(
	ctx context.Context, s *state, problem proof.AnchorProblem, root tree.Hash,
) ([]tree.Hash, error) {
	if problem.Size > s.Size {
		return nil, p.unsatisfied(s, problem, proof.TailMissing)
	}
	hashes, err := p.p.Tree.Consistency(ctx, problem.Size, s.Size)
	if err != nil {
		return nil, fmt.Errorf("prove that the audit trail continues from %d entries: %w", problem.Size, err)
	}
	//nolint:gosec // neither is negative
	if err := tree.VerifyConsistency(uint64(problem.Size), uint64(s.Size), root, s.Root, hashes); err != nil {
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

// changed returns the fault of an entry that changed since the verification.
func changed(at, seq int64) *fault.Error {
	v := audit.ChainVerdict{Verdict: proof.Verdict{BrokeAt: at, BrokeSeq: seq, AnchorProblems: []proof.AnchorProblem{}}}
	return detailed(audit.Broken, v, fmt.Sprintf("entry %d of the audit trail changed after the verification", seq))
}

// links compares entries with their predecessors.
type links struct {
	next int64 // the next expected number
	prev tree.Hash
	any  bool // whether no entry was read yet, so that prev is unknown
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

// open returns the disclosures of an entry. They and the detail have to match the leaf, otherwise the file would not
// verify.
func open(e *audit.Stored, l *leaf.Leaf) ([]string, error) {
	if _, _, err := opened(e, l); err != nil {
		return nil, changed(e.Seq, e.Seq).Because(err)
	}
	return e.Disclosures, nil
}
