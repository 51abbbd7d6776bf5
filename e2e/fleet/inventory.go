package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// Group is a group of an inventory.
type Group struct {
	Name  string
	Hosts []*Host
}

// Inventory is an INI inventory of the fleet: the first third of the hosts, and at least one, in the group "store",
// the others in "front", all of them in "site". Each host has host_root, the directory that plays may write to.
func (f *Fleet) Inventory() string { return f.InventoryOf(f.groups()...) }

// InventoryOf is the same with other groups in "site". It ends among the variables of all hosts.
func (f *Fleet) InventoryOf(groups ...Group) string {
	return f.inventory(groups) + fmt.Sprintf("ansible_ssh_private_key_file=%s\n", f.KeyPath())
}

// InventoryWithoutKey is Inventory without the path of the key, for callers that pass the key as a credential.
func (f *Fleet) InventoryWithoutKey() string { return f.inventory(f.groups()) }

func (f *Fleet) groups() []Group {
	stores := max(1, len(f.hosts)/3)
	return []Group{{"store", f.hosts[:stores]}, {"front", f.hosts[stores:]}}
}

func (f *Fleet) inventory(groups []Group) string {
	var b strings.Builder
	for _, h := range f.hosts {
		fmt.Fprintf(&b, "%s ansible_host=%s ansible_port=%d host_root=%s ansible_remote_tmp=%s\n", h.Name, h.Address, h.Port,
			h.Root(), h.tmp())
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n[%s]\n", g.Name)
		for _, h := range g.Hosts {
			b.WriteString(h.Name + "\n")
		}
	}
	b.WriteString("\n[site:children]\n")
	for _, g := range groups {
		b.WriteString(g.Name + "\n")
	}
	b.WriteString("\n[all:vars]\n")
	fmt.Fprintf(&b, "ansible_user=%s\nansible_python_interpreter=%s\nansible_ssh_common_args='%s'\n",
		f.user, f.python, strings.Join(f.clientOptions(), " "))
	if !terminals() {
		b.WriteString("ansible_ssh_use_tty=no\n")
	}
	return b.String()
}

// clientOptions returns options with which a client trusts the fleet's hosts and uses no settings of its account.
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
