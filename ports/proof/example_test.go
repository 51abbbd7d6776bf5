package proof_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// A bundle is verified as it streams by. Without a trusted key of the reader the verdict is not pinned.
func ExampleVerifyFile() {
	f, err := os.Open("testdata/bundles/whole.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	v, err := proof.VerifyFile(context.Background(), f, proof.Trust{}, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("holds:", v.OK, "pinned:", v.Pinned, "entries:", v.Count)
	for _, c := range v.Checks {
		fmt.Println(c.ID, c.Result)
	}
	// Output:
	// holds: true pinned: false entries: 12
	// format passed
	// trust warned
	// checkpoint passed
	// entries passed
	// heads passed
	// times passed
	// disclosures passed
	// manifest passed
}

// A pinned head is stored, and every later file of the log has to continue it.
func ExamplePin() {
	data, err := os.ReadFile("testdata/bundles/whole.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := proof.VerifyFile(context.Background(), bytes.NewReader(data), proof.Trust{},
		time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	known, err := proof.Pin(nil, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err = proof.VerifyFile(context.Background(), bytes.NewReader(data), proof.Trust{Known: known},
		time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	fmt.Println("pinned:", v.Pinned, err)
	// Output:
	// pinned: true <nil>
}

// An auditor's program may read the entries itself.
func Example_entries() {
	f, err := os.Open("testdata/bundles/whole.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	r := bundle.NewReader(f)
	head, err := r.Head()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(head.Origin, head.From, head.To)
	e, err := r.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := leaf.Scan(e.Leaf)
	fmt.Println(l.Seq, l.Act, l.Out, err)
	// Output:
	// audit.example.org/in_test/e1 1 12
	// 1 run.submit applied <nil>
}
