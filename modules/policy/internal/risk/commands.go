package risk

import (
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	eraseDisk = iota
	dropData
	destroyInfrastructure
	applyInfrastructure
	deleteTree
	deleteResources
	stopMachine
	executeDownload
	stopServices
	openPermissions
	openFirewall
	removeAccounts
	becomeUser
	unread // no pattern
)

// patterns are those of the commands that have a rule. [^;|&\n] keeps a match within one command.
var patterns = [...]pattern{
	eraseDisk: {[]string{"mkfs", "wipefs", "blkdiscard", "dd", "shred", "volume", "disk"},
		lazyregexp.New(`\bmkfs(?:\.\w+)?\s|\bwipefs\s(?:[^;|&\n]*\s)?(?:-[a-z]*a|--all)\b|\bblkdiscard\s` +
			`|\bdd\s[^;|&\n]*\bof=["']?/dev/(?:[shv]d|xvd|nvme|mmcblk|mapper/|disk/|dm-|md)` +
			`|\bshred\s[^;|&\n]*/dev/|\b(?:format-volume|clear-disk)\s`)},
	dropData: {[]string{"drop", "truncate", "dropdb", "dropdatabase", "flushall", "flushdb"},
		lazyregexp.New(`\bdrop\s+(?:database|schema|table|tablespace)\s|\btruncate\s+table\s|\bdropdb\s` +
			`|\.dropdatabase\(|\bflush(?:all|db)\b`)},
	destroyInfrastructure: {[]string{"destroy"},
		lazyregexp.New(`\b(?:terraform|tofu|terragrunt)\s+(?:-\S+\s+)*(?:run-all\s+)?` +
			`(?:destroy\b|apply\s[^;|&\n]*-destroy\b)|\bpulumi\s+(?:-\S+\s+)*destroy\b`)},
	applyInfrastructure: {[]string{"apply", "up"},
		lazyregexp.New(`\b(?:terraform|tofu|terragrunt)\s+(?:-\S+\s+)*(?:run-all\s+)?apply\b|\bpulumi\s+(?:-\S+\s+)*up\b`)},
	deleteTree: {[]string{"rm", "item", "delete", "rmtree", "removeall", "rd", "rmdir"},
		lazyregexp.New(`\brm\s+(?:[^;|&\n]*\s)?(?:-[a-z]*r[a-z]*|--recursive)\b` +
			`|\bremove-item\s(?:[^;|&\n]*\s)?-r(?:ecurse)?\b|\bfind\s(?:[^;|&\n]*\s)?-delete\b|\brmtree\(` +
			`|\bos\.removeall\(|\b(?:rd|rmdir)\s+/s\b`)},
	deleteResources: {[]string{"delete", "drain", "uninstall", "terminate", "rb", "recursive"},
		lazyregexp.New(`\b(?:kubectl|oc)\s(?:[^;|&\n]*\s)?(?:delete|drain)\s` +
			`|\bhelm\s(?:[^;|&\n]*\s)?(?:uninstall|delete)\s` +
			`|\baws\s[^;|&\n]*\s(?:terminate|delete)-|\baws\s+s3\s+(?:rb\s|rm\s[^;|&\n]*--recursive\b)` +
			`|\b(?:az|gcloud)\s[^;|&\n]*\sdelete\b`)},
	stopMachine: {[]string{"shutdown", "reboot", "poweroff", "halt", "init", "telinit", "computer"},
		lazyregexp.New(`(?:^|[\s"'/;&|(])(?:shutdown|reboot|poweroff|halt)(?:$|[\s"';&|)])|\b(?:tel)?init\s+[06]\b` +
			`|\b(?:stop|restart)-computer\b`)},
	executeDownload: {[]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "source", "eval", "python", "python3", "perl",
		"ruby",
		"node", "iex", "expression"},
		lazyregexp.New(`\b(?:curl|wget)\s[^\n]*\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:\S*/)?(?:env\s+)?` +
			`(?:(?:ba|da|z|k|a)?sh\b|(?:python[\d.]*|perl|ruby|node)\s*(?:$|-$|-\s|[;&"')\n]))` +
			`|\b(?:(?:ba|da|z|k|a)?sh|source|eval)\s[^;|&\n]*(?:<\(|\$\(|` + "`" + `)\s*(?:curl|wget)\s` +
			`|\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod|downloadstring)\b[^\n]*` +
			`\|\s*(?:iex|invoke-expression)\b` +
			`|\b(?:iex|invoke-expression)\b[^\n]*\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\b`)},
	stopServices: {[]string{"stop", "disable", "mask", "kill"},
		lazyregexp.New(`\bsystemctl\s(?:[^;|&\n]*\s)?(?:stop|disable|mask|kill)\s|\bservice\s+\S+\s+stop\b` +
			`|\bstop-service\s|\bnet\s+stop\s|/init\.d/\S+\s+stop\b`)},
	openPermissions: {[]string{"chmod"},
		lazyregexp.New(`\bchmod\s+(?:[^;|&\n]*\s)?(?:[0-7]?[0-7][0-7][2367]|[ugoa]*[oa][ugoa]*[+=][rxst]*w[rwxst]*)\s`)},
	openFirewall: {[]string{"iptables", "ip6tables", "flush", "ufw", "netsh", "netfirewallprofile"},
		lazyregexp.New(`\bip6?tables\s+(?:(?:-t|--table)\s+\S+\s+|-w\s+)*(?:-f|--flush)\b` +
			`|\bnft\s+(?:[^;|&\n]*\s)?flush\s+(?:ruleset|table|chain)\b|\bufw\s+(?:--force\s+)?(?:disable|reset)\b` +
			`|\bnetsh\s+advfirewall\s[^;|&\n]*\sstate\s+off\b|\bset-netfirewallprofile\s[^;|&\n]*-enabled\s+\$?false\b`)},
	removeAccounts: {[]string{"userdel", "groupdel", "deluser", "delgroup", "localuser", "drop", "delete"},
		lazyregexp.New(`\b(?:userdel|groupdel|deluser|delgroup|remove-localuser)\s|\bdrop\s+(?:user|role)\s` +
			`|\bnet\s+user\s[^;|&\n]*/delete\b`)},
	becomeUser: {[]string{"sudo", "su", "doas", "runuser", "pkexec"},
		lazyregexp.New(`\b(?:sudo|doas|runuser|pkexec)\b|\bsu\s+-`)},
}

func commandRules() []Rule {
	return []Rule{{
		Name: "erase_disk", Level: runs.CriticalRisk, Reason: "Its command erases a disk or a file system.",
		Text: "The command has `mkfs`, `wipefs --all`, `blkdiscard`, `dd of=/dev/...` with a disk, `shred /dev/...`, " +
			"`Format-Volume` or `Clear-Disk`.",
		match: calls(eraseDisk),
	}, {
		Name: "drop_data", Level: runs.CriticalRisk, Reason: "Its command drops data of a database.",
		Text: "The command has `drop` or `truncate` of a database, schema or table, `dropdb`, `dropDatabase()`, " +
			"`FLUSHALL` or `FLUSHDB`.",
		match: calls(dropData),
	}, {
		Name: "destroy_infrastructure", Level: runs.CriticalRisk, Reason: "Its command destroys infrastructure.",
		Text:  "The command has `destroy` or `apply -destroy` of `terraform`, `tofu` or `terragrunt`, or `pulumi destroy`.",
		match: calls(destroyInfrastructure),
	}, {
		Name: "apply_infrastructure", Level: runs.HighRisk, Reason: "Its command changes infrastructure.",
		Text:  "The command has `apply` of `terraform`, `tofu` or `terragrunt`, or `pulumi up`.",
		match: calls(applyInfrastructure),
	}, {
		Name: "delete_tree", Level: runs.HighRisk, Reason: "Its command deletes a tree of files.",
		Text: "The command has `rm` with `-r`, `find -delete`, `Remove-Item -Recurse`, `rmdir /s`, `rmtree()` or " +
			"`os.RemoveAll()`.",
		match: calls(deleteTree),
	}, {
		Name: "delete_resources", Level: runs.HighRisk, Reason: "Its command deletes resources of a cluster or a cloud.",
		Text: "The command has `delete` or `drain` of `kubectl` or `oc`, `helm uninstall`, or what deletes with `aws`, " +
			"`az` or `gcloud`.",
		match: calls(deleteResources),
	}, {
		Name: "stop_machine", Level: runs.HighRisk, Reason: "Its command stops or restarts a machine.",
		Text: "The command has `shutdown`, `reboot`, `poweroff`, `halt`, `init 0` or `6`, `Stop-Computer` or " +
			"`Restart-Computer`.",
		match: calls(stopMachine),
	}, {
		Name: "execute_download", Level: runs.HighRisk, Reason: "Its command executes what it downloads.",
		Text: "The command gives the output of `curl` or `wget` to a shell or an interpreter, or a download to " +
			"`Invoke-Expression`.",
		match: calls(executeDownload),
	}, {
		Name: "stop_service", Level: runs.HighRisk, Reason: "Its command stops or disables a service.",
		Text: "The command has `systemctl` with `stop`, `disable`, `mask` or `kill`, `service NAME stop`, `Stop-Service` " +
			"or `net stop`.",
		match: calls(stopServices),
	}, {
		Name: "open_permissions", Level: runs.HighRisk, Reason: "Its command lets everybody write to files.",
		Text:  "The command has `chmod` with a mode that lets others write, such as `777`, `666` or `a+w`.",
		match: calls(openPermissions),
	}, {
		Name: "open_firewall", Level: runs.HighRisk, Reason: "Its command removes the rules of a firewall.",
		Text:  "The command flushes `iptables` or `nft`, or turns off `ufw` or the firewall of Windows.",
		match: calls(openFirewall),
	}, {
		Name: "remove_account", Level: runs.HighRisk, Reason: "Its command removes accounts.",
		Text: "The command has `userdel`, `groupdel`, `deluser`, `delgroup`, `Remove-LocalUser`, `net user /delete`, or " +
			"`drop user` or `drop role`.",
		match: calls(removeAccounts),
	}, {
		Name: "long_command", Level: runs.HighRisk, Reason: "Its command is too long to be read for patterns.",
		Text: "The command is longer than 32 KiB, or most of its lines need a closer look. Only its beginning is " +
			"compared with the rules above.",
		match: calls(unread),
	}}
}
