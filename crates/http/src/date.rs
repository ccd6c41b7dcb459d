//! HTTP dates (RFC 9110 §5.6.7) from and to Unix seconds, without allocation and without a clock.

/// Length in bytes of an IMF-fixdate.
pub const LEN: usize = 29;

/// The last second that four digits of year can tell: 9999-12-31 23:59:59.
const LAST_S: u64 = 253_402_300_799;
const DAY_S: u64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// The IMF-fixdate of a time in Unix seconds, as in `Sun, 06 Nov 1994 08:49:37 GMT`; times beyond the year 9999 give its
/// last second.
pub fn format(unix_s: u64) -> [u8; LEN] {
    let unix_s = unix_s.min(LAST_S);
    let (year, month, day) = civil(unix_s / DAY_S);
    let second = unix_s % DAY_S;
    let mut text = *b"Sun, 00 Jan 0000 00:00:00 GMT";
    text[..3].copy_from_slice(&WEEKDAYS[weekday(unix_s)].as_bytes()[..3]);
    put_two_digits(&mut text, 5, day);
    text[8..11].copy_from_slice(&MONTHS[month * 3 - 3..month * 3]);
    put_two_digits(&mut text, 12, year / 100);
    put_two_digits(&mut text, 14, year % 100);
    put_two_digits(&mut text, 17, second / 3600);
    put_two_digits(&mut text, 20, second / 60 % 60);
    put_two_digits(&mut text, 23, second % 60);
    text
}

/// Unix seconds of an IMF-fixdate, the only format a sender may use. `None` unless every byte is right, the weekday
/// included, and for times before 1970.
pub fn parse_imf(text: &[u8]) -> Option<u64> {
    let text: &[u8; LEN] = text.try_into().ok()?;
    let unix_s =
        unix(year_of(&text[12..16])?, month_of(&text[8..11])?, two_digits(&text[5..7])?, &text[17..25])?;
    (format(unix_s) == *text).then_some(unix_s)
}

/// Unix seconds of a date in any of the three formats a recipient must accept: IMF-fixdate, RFC 850, asctime. The two
/// digits of an RFC 850 year mean the last such year that is at most 50 after the year of `now_unix_s`. `None` for anything else, for a
/// weekday that does not fit, and for times before 1970.
pub fn parse(text: &[u8], now_unix_s: u64) -> Option<u64> {
    parse_imf(text).or_else(|| parse_rfc850(text, now_unix_s)).or_else(|| parse_asctime(text))
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn parse_rfc850(text: &[u8], now_unix_s: u64) -> Option<u64> {
    let comma = text.iter().position(|&b| b == b',')?;
    let (name, rest) = text.split_at(comma);
    let rest: &[u8; 24] = rest.try_into().ok()?;
    if &rest[..2] != b", " || rest[4] != b'-' || rest[8] != b'-' || rest[11] != b' ' || &rest[20..] != b" GMT"
    {
        return None;
    }
    let (day, month, short_year) =
        (two_digits(&rest[2..4])?, month_of(&rest[5..8])?, two_digits(&rest[9..11])?);
    let latest_year = civil(now_unix_s.min(LAST_S) / DAY_S).0 + 50;
    let year = latest_year - (latest_year - short_year) % 100;
    let unix_s = unix(year, month, day, &rest[12..20])?;
    (WEEKDAYS[weekday(unix_s)].as_bytes() == name).then_some(unix_s)
}

/// `Sun Nov  6 08:49:37 1994`
fn parse_asctime(text: &[u8]) -> Option<u64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    if text[3] != b' ' || text[7] != b' ' || text[10] != b' ' || text[19] != b' ' {
        return None;
    }
    let day = match &text[8..10] {
        [b' ', digit] => two_digits(&[b'0', *digit])?,
        digits => two_digits(digits)?,
    };
    let unix_s = unix(year_of(&text[20..24])?, month_of(&text[4..7])?, day, &text[11..19])?;
    (WEEKDAYS[weekday(unix_s)].as_bytes()[..3] == text[..3]).then_some(unix_s)
}

/// Unix seconds of a day and a time of day written `HH:MM:SS`; `None` for a day that does not exist.
fn unix(year: u64, month: u64, day: u64, time: &[u8]) -> Option<u64> {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = *time else { return None };
    let (hour, minute, second) = (two_digits(&[h1, h2])?, two_digits(&[m1, m2])?, two_digits(&[s1, s2])?);
    if hour > 23 || minute > 59 || second > 59 || day == 0 || year < 1970 {
        return None;
    }
    let days = days(year, month, day);
    (civil(days) == (year, month as usize, day)).then_some(days * DAY_S + hour * 3600 + minute * 60 + second)
}

/// Year, month (1 to 12) and day of a count of days since 1970-01-01, and its inverse below: Howard Hinnant,
/// "chrono-compatible low-level date algorithms", `civil_from_days` and `days_from_civil`.
fn civil(days: u64) -> (u64, usize, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month as usize, day)
}

/// Days since 1970-01-01 of a date from then on. A day beyond its month counts on into the next.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + day; // from 1: the last constant makes up for it
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_469
}

/// 0 for Sunday. 1970-01-01 was a Thursday.
fn weekday(unix_s: u64) -> usize {
    ((unix_s / DAY_S + 4) % 7) as usize
}

/// 1 to 12.
fn month_of(name: &[u8]) -> Option<u64> {
    MONTHS.chunks_exact(3).position(|month| month == name).map(|i| i as u64 + 1)
}

fn year_of(digits: &[u8]) -> Option<u64> {
    Some(two_digits(&digits[..2])? * 100 + two_digits(&digits[2..])?)
}

fn two_digits(digits: &[u8]) -> Option<u64> {
    match *digits {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(u64::from(tens - b'0') * 10 + u64::from(ones - b'0'))
        }
        _ => None,
    }
}

fn put_two_digits(text: &mut [u8; LEN], at: usize, number: u64) {
    text[at] = b'0' + (number / 10) as u8;
    text[at + 1] = b'0' + (number % 10) as u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9110 §5.6.7: the same second in three formats.
    const EXAMPLE_S: u64 = 784_111_777;
    const NOW_S: u64 = 1_795_000_000; // November 2026

    #[test]
    fn the_three_examples_of_the_rfc_are_one_second() {
        assert_eq!(&format(EXAMPLE_S), b"Sun, 06 Nov 1994 08:49:37 GMT");
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(parse(text.as_bytes(), NOW_S), Some(EXAMPLE_S), "{text}");
        }
    }

    #[test]
    fn formatting_and_parsing_are_inverse_on_every_day_for_600_years() {
        for day in 0..600 * 366 {
            let unix_s = day * DAY_S + day * 7919 % DAY_S;
            assert_eq!(parse_imf(&format(unix_s)), Some(unix_s));
        }
    }

    #[test]
    fn consecutive_days_follow_the_calendar() {
        let text = |unix_s| String::from_utf8(format(unix_s).to_vec()).unwrap();
        assert_eq!(text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(text(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(text(951_868_800), "Wed, 01 Mar 2000 00:00:00 GMT");
        assert_eq!(text(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT"); // no 29 February before it
        assert_eq!(text(4_107_456_000), "Sun, 28 Feb 2100 00:00:00 GMT");
        assert_eq!(text(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn no_other_byte_is_right_anywhere_in_an_imf_date_but_a_digit_of_the_time_or_year() {
        let right = *b"Sun, 06 Nov 1994 08:49:37 GMT";
        for at in 0..LEN {
            for byte in 0..=255u8 {
                let mut text = right;
                text[at] = byte;
                let free = matches!(at, 12..=15 | 17 | 18 | 20 | 21 | 23 | 24) && byte.is_ascii_digit();
                if text != right && !free {
                    assert_eq!(parse_imf(&text), None, "{}", text.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn days_times_and_weekdays_that_do_not_exist_are_refused() {
        for text in [
            "Wed, 29 Feb 2023 00:00:00 GMT",
            "Wed, 30 Feb 2000 00:00:00 GMT",
            "Thu, 00 Jan 1970 00:00:00 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:60 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun,  6 Nov 1994 08:49:37 GMT",
            "sun, 06 nov 1994 08:49:37 gmt",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Monday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT",
            "Wednesday, 29-Feb-23 00:00:00 GMT", // 1 March 2023 was a Wednesday
            "Sun Nov 06 08:49:37 94",
            "Mon Nov  6 08:49:37 1994",
            "",
        ] {
            assert_eq!(parse(text.as_bytes(), NOW_S), None, "{text}");
        }
    }

    #[test]
    fn two_digits_of_year_reach_fifty_years_ahead() {
        let year = |text: &str| parse(text.as_bytes(), NOW_S).map(|unix_s| civil(unix_s / DAY_S).0);
        assert_eq!(year("Wednesday, 01-Jan-76 00:00:00 GMT"), Some(2076));
        assert_eq!(year("Saturday, 01-Jan-77 00:00:00 GMT"), Some(1977));
        assert_eq!(year("Thursday, 01-Jan-26 00:00:00 GMT"), Some(2026));
    }
}
