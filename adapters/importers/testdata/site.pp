node 'web1.example.org' {
  include role::web
  include profile::base
  package { 'nginx': ensure => installed }
}
node /^db\d+$/ {
  include role::db
}
