package catalog_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
)

// aKey is an ed25519 key in the format of known_hosts.
const aKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPc6OdGcCcJyJPGz3cGEr4kfAH3kEzUfoC+XrSqfLrXl"

// TestKnownHosts stores known hosts of every form that ssh reads.
func TestKnownHosts(t *testing.T) {
	t.Parallel()
	b, ctx := onSQLite(t), t.Context()
	hashed := "|1|" + strings.Repeat("A", 27) + "=|" + strings.Repeat("B", 26) + "A="
	for n, text := range []string{
		"", "\n# a comment\n\n", "h1 " + aKey, "h1 " + aKey + " with a comment\r\n",
		"h1,[h2]:2222,!h3,*.example.com " + aKey + "\n",
		"@revoked * " + aKey + "\n@cert-authority *.example.com " + aKey + "\n", hashed + " " + aKey,
	} {
		i := inventory(fmt.Sprint("i", n))
		i.KnownHosts = []byte(text)
		got, err := b.Inventories.Create(ctx, i)
		if err != nil || string(got.KnownHosts) != text || got.HostKeyPolicy != catalog.AcceptNew {
			t.Errorf("%q: %q, %s, %v", text, got.KnownHosts, got.HostKeyPolicy, err)
			continue
		}
		if got = must[catalog.Inventory](t)(b.Inventories.Get(ctx, got.ID)); string(got.KnownHosts) != text {
			t.Errorf("%q is read as %q", text, got.KnownHosts)
		}
	}
}

// TestKnownHostsRefused checks that a line that ssh would skip is refused with its number.
func TestKnownHostsRefused(t *testing.T) {
	t.Parallel()
	b, ctx := onSQLite(t), t.Context()
	blob, err := base64.StdEncoding.DecodeString(strings.Fields(aKey)[1])
	if err != nil {
		t.Fatal(err)
	}
	short := "ssh-ed25519 " + base64.StdEncoding.EncodeToString(blob[:len(blob)-1])
	for _, line := range []string{
		"h1", "h1 ssh-ed25519", aKey, "h1 ssh-rsa " + strings.Fields(aKey)[1], "h1 " + short, "h1 ssh-ed25519 !!!",
		"@ca h1 " + aKey, "h1,, " + aKey, "h1,! " + aKey, "|1|c2hvcnQ=|c2hvcnQ= " + aKey, "|2|x|y " + aKey,
		"h1\x00 " + aKey, "h1 " + aKey + "\rh2", "-----BEGIN OPENSSH PRIVATE KEY-----",
	} {
		i := inventory("refused")
		i.KnownHosts = []byte("# keys\nh0 " + aKey + "\n" + line + "\n")
		_, err := b.Inventories.Create(ctx, i)
		if field(err) != "known_hosts" || !strings.Contains(fmt.Sprint(err), "line 3: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
	i := inventory("large")
	i.KnownHosts = []byte(strings.Repeat("#", catalog.MaxKnownHosts+1))
	if _, err := b.Inventories.Create(ctx, i); field(err) != "known_hosts" || !strings.Contains(err.Error(), "1048576") {
		t.Error(err)
	}
	i = inventory("policy")
	i.HostKeyPolicy = "no"
	if _, err := b.Inventories.Create(ctx, i); field(err) != "host_key_policy" {
		t.Error(err)
	}
}

// TestHostKeysOfAnInventory checks what a change keeps, what the trail tells and what a run gets.
func TestHostKeysOfAnInventory(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		i := inventory("estate")
		i.KnownHosts, i.HostKeyPolicy = []byte("h1 "+aKey), catalog.Strict
		i = must[catalog.Inventory](t)(b.Inventories.Create(ctx, i))
		tells := func(a audit.Action, policy string, known bool) {
			t.Helper()
			list := b.trail.Take()
			if len(list) != 1 || list[0].Action != a {
				t.Fatalf("%+v", list)
			}
			d := list[0].Detail
			if digest, _ := d["known_hosts_digest"].(string); d["host_key_policy"] != policy || (len(digest) == 64) != known {
				t.Errorf("%s: %v", a, d)
			}
		}
		tells(audit.InventoryCreate, "strict", true)
		next := inventory("estate")
		got := must[catalog.Inventory](t)(b.Inventories.Update(ctx, i.ID, 0, next))
		if string(got.KnownHosts) != "h1 "+aKey || got.HostKeyPolicy != catalog.AcceptNew {
			t.Errorf("%+v", got)
		}
		tells(audit.InventoryUpdate, "accept-new", true)
		text, _, err := b.Materials.Inventory(ctx, i.ID, true)
		if err != nil || string(text.KnownHosts) != "h1 "+aKey || text.HostKeyPolicy != catalog.AcceptNew {
			t.Errorf("%+v %v", text, err)
		}
		next.KnownHosts = []byte{}
		must[catalog.Inventory](t)(b.Inventories.Update(ctx, i.ID, 0, next))
		tells(audit.InventoryUpdate, "accept-new", false)
		if got = must[catalog.Inventory](t)(b.Inventories.Get(ctx, i.ID)); len(got.KnownHosts) != 0 {
			t.Errorf("%+v", got)
		}
	})
}
