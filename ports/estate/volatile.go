package estate

// VolatileFacts are the patterns of the keys of facts that change all the time without a change of the host. A segment
// of a pattern is a name, or * for any one name; ** at the end is everything below.
func VolatileFacts() []string {
	return []string{
		"ansible_date_time.**",
		"ansible_uptime_seconds",
		"ansible_loadavg.**",
		"ansible_memfree_mb",
		"ansible_swapfree_mb",
		"ansible_memory_mb.nocache.**",
		"ansible_memory_mb.real.free",
		"ansible_memory_mb.real.used",
		"ansible_memory_mb.swap.cached",
		"ansible_memory_mb.swap.free",
		"ansible_memory_mb.swap.used",
		"ansible_mounts.*.block_available",
		"ansible_mounts.*.block_used",
		"ansible_mounts.*.inode_available",
		"ansible_mounts.*.inode_total", // XFS makes inodes as it needs them
		"ansible_mounts.*.inode_used",
		"ansible_mounts.*.size_available",
		"ansible_env.DBUS_SESSION_BUS_ADDRESS",
		"ansible_env.INVOCATION_ID",
		"ansible_env.JOURNAL_STREAM",
		"ansible_env.SSH_AUTH_SOCK",
		"ansible_env.SSH_CLIENT",
		"ansible_env.SSH_CONNECTION",
		"ansible_env.SSH_TTY",
		"ansible_env.SUDO_COMMAND", // the name of a temporary file
		"ansible_env.SYSTEMD_EXEC_PID",
		"ansible_env.XDG_SESSION_ID",
		"facter_load_averages.**",
		"facter_memory.**",
		"facter_memoryfree",
		"facter_memoryfree_mb",
		"facter_swapfree",
		"facter_swapfree_mb",
		"facter_system_uptime.**",
		"facter_uptime",
		"facter_uptime_days",
		"facter_uptime_hours",
		"facter_uptime_seconds",
	}
}

// UnorderedFacts are the patterns of lists that have no order: Ansible lists them differently each time.
func UnorderedFacts() []string {
	return []string{
		"ansible_all_ipv4_addresses",
		"ansible_all_ipv6_addresses",
		"ansible_interfaces",
		"ansible_virtualization_tech_guest",
		"ansible_virtualization_tech_host",
	}
}
