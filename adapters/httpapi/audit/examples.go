package audit

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

const (
	exampleRun  = "run_01k0a8bq3vtx5zk9w2m4n6p8rs"
	exampleHash = "88bfe5fb1c9d4e2a7f60b3d8a1c5e9f2047b6d8e3a9c1f5072e4b6d8f0a237ce"
	examplePrev = "48bf752e9a1d3c5f7082b4d6e8fa0c1e3f5072849ab6c8daecfe10324456a841"
	exampleKey  = "sha256:1f0e3dad99908345f7439f8ffabdffc41f0e3dad99908345f7439f8ffabdffc4"
	exampleNote = "audit.example.org/in_test/e1\n12\nOKcjewPjz7Sg1aQwDCjmwqK4vcXrX2jep4EeVkB8QHM=\n\n" +
		"— audit.example.org/in_test/e1 " +
		"wvf4gDLxQDLnYea09TVDHYsCc+sAlCEXBxTGVCkOV6BdSDWPCpcOt2tuTyCkEK7OeanBg0rcLi4EtrIWhv/avIHoMwA=\n"
	exampleReceipt = `{"payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==","payloadType":"application/vnd.in-toto+json",` +
		`"signatures":[{"keyid":"` + exampleKey + `","sig":"MEUCIQ=="}]}`
	exampleBundle = `{"v":1,"origin":"audit.example.org/in_test/e1","from":1,"to":12,"size":12}` + "\n"
)

func exampleList() ListBody {
	return ListBody{
		Entries: []EntryBody{{
			Seq: 12, ID: "aud_01k0a8bq3vtx5zk9w2m4n6p8rs", At: httpapi.ExampleTime(), Action: string(audit.RunApprove),
			Method: "POST",
			Path:   "/v1/runs/" + exampleRun + "/approve", Object: &ObjectBody{Kind: "run", ID: exampleRun}, Run: exampleRun,
			Actor:   ActorBody{Type: "user", ID: "usr_01k0a0000vtx5zk9w2m4n6p8rs", Name: "admin", IP: "192.0.2.7"},
			Outcome: string(audit.Applied), Text: "checked with the owner", Details: json.RawMessage(`{"verdict":"approved"}`),
			DetailsHash: "sha256:" + examplePrev, PrevHash: examplePrev, Hash: exampleHash,
		}},
		Count: 1, HasMore: true, NextBefore: 12, Limit: 100,
	}
}

func exampleVerdict() VerifyBody {
	return VerifyBody{
		OK: true, Count: 12, Head: exampleHash, Anchored: 12, AnchorProblems: []proof.AnchorProblem{},
		Checks:     []proof.Check{{ID: "entries", Result: proof.Passed, Detail: "12 entries"}},
		NotChecked: []string{"whether the server recorded all that happened"},
	}
}

// SealBody has some members of seal.json, which may have more.
type SealBody struct {
	V          int            `json:"v"`
	Service    map[string]any `json:"service" doc:"Name and version."`
	InstallID  string         `json:"install_id"`
	Origin     string         `json:"origin" doc:"That of checkpoints of the present epoch."`
	Epoch      int64          `json:"epoch"`
	Epochs     []SealEpoch    `json:"epochs"`
	Keys       []SealKey      `json:"keys"`
	Checkpoint string         `json:"checkpoint" doc:"The newest signed head, a C2SP signed note."`
	Formats    []string       `json:"formats" doc:"Media types of the files that this install makes."`
	VerifyPage string         `json:"verify_page,omitempty"`
	UpdatedAt  time.Time      `json:"updated_at"`
	Sig        map[string]any `json:"sig" doc:"A DSSE envelope over the rest, so that a cached copy can be checked."`
}

// TransformSchema allows further members of the document.
func (SealBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.AdditionalProperties = true
	return s
}

// SealEpoch is a span of the chain without a rollback.
type SealEpoch struct {
	N        int64  `json:"n"`
	FirstSeq int64  `json:"first_seq"`
	LastSize int64  `json:"last_size,omitempty"`
	LastRoot string `json:"last_root,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// SealKey is a key of the install.
type SealKey struct {
	Alg       string `json:"alg"`
	FirstSize int64  `json:"first_size"`
	KID       string `json:"kid"`
	NotBefore string `json:"not_before"`
	SPKI      string `json:"spki_pem"`
	Status    string `json:"status" enum:"next,active,retired,revoked"`
	Use       string `json:"use" enum:"checkpoint,statement"`
	VKey      string `json:"vkey,omitempty"`
}

func exampleSeal() SealBody {
	return SealBody{
		V: 1, Service: map[string]any{"name": "writ", "version": "1.0.0"}, InstallID: "in_test",
		Origin: "audit.example.org/in_test/e1", Epoch: 1,
		Epochs: []SealEpoch{{N: 1, FirstSeq: 1}},
		Keys: []SealKey{{
			Alg: "ed25519", KID: exampleKey, NotBefore: "2026-01-01T00:00:00.000000Z", Status: "active", Use: "checkpoint",
			SPKI: "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA...\n-----END PUBLIC KEY-----\n",
			VKey: "audit.example.org/in_test/e1+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c",
		}},
		Checkpoint: exampleNote, Formats: []string{receipt.MediaType, bundle.MediaType}, UpdatedAt: httpapi.ExampleTime(),
		Sig: map[string]any{"payloadType": "application/json", "signatures": []any{}},
	}
}
