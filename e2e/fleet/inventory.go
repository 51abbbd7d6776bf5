package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// Inventory is an INI inventory of the fleet: the first third of the hosts, and at least one, in the group "store",
// the others in "front", all of them in "site". Each host has host_root, the directory that plays may write to.
func (f *Fleet) Inventory() string {
	return f.inventory(fmt.Sprintf("ansible_ssh_private_key_file=%s\n", f.KeyPath()))
}

// InventoryWithoutKey is the same without the path of the key, for callers that hand the key over as a credential.
func (f *Fleet) InventoryWithoutKey() string { return f.inventory("") }

func (f *Fleet) inventory(last string) string {
	var b strings.Builder
	for _, h := range f.hosts {
		fmt.Fprintf(&b, "%s ansible_host=%s ansible_port=%d host_root=%s ansible_remote_tmp=%s\n", h.Name, h.Address, h.Port, h.Root(), h.tmp())
	}
	stores := max(1, len(f.hosts)/3)
	for _, g := range []struct {
		name  string
		hosts []*Host
	}{{"store", f.hosts[:stores]}, {"front", f.hosts[stores:]}} {
		fmt.Fprintf(&b, "\n[%s]\n", g.name)
		for _, h := range g.hosts {
			b.WriteString(h.Name + "\n")
		}
	}
	b.WriteString("\n[site:children]\nstore\nfront\n\n[all:vars]\n")
	fmt.Fprintf(&b, "ansible_user=%s\nansible_python_interpreter=%s\nansible_ssh_common_args='%s'\n",
		f.user, f.python, strings.Join(f.clientOptions(), " "))
	if !terminals() {
		b.WriteString("ansible_ssh_use_tty=no\n")
	}
	return b.String() + last
}

// clientOptions make a client trust the fleet's hosts and nothing of the account that runs it.
func (f *Fleet) clientOptions() []string {
	return []string{
		"-F", "none",
		"-o", "UserKnownHostsFile=" + f.KnownHostsPath(),
		"-o", "GlobalKnownHostsFile=none",
		"-o", "StrictHostKeyChecking=yes",
		"-o", "IdentitiesOnly=yes",
		"-o", "BatchMode=yes",
	}
}

// Client returns the arguments of an ssh client that runs a command on a host.
func (f *Fleet) Client(h *Host, command ...string) []string {
	args := append(f.clientOptions(), "-i", f.KeyPath(), "-p", strconv.Itoa(h.Port), f.user+"@"+h.Address)
	return append(args, command...)
}
