//! Trigonometry in degrees, exact where the result is a round number.
//!
//! Angles are brought into the first quadrant; there sine and cosine are scaled by their computed values at
//! 30 and 60 degrees, so that those and their multiples come out exact.

use std::f64::consts::PI;

const RADIANS_PER_DEGREE: f64 = PI / 180.0;

/// Sine of 0 to 30 degrees.
fn sine_to_30(x: f64) -> f64 {
    (x * RADIANS_PER_DEGREE).sin() / (30.0 * RADIANS_PER_DEGREE).sin() / 2.0
}

/// Cosine of 0 to 60 degrees.
fn cosine_to_60(x: f64) -> f64 {
    let one_minus = 1.0 - (x * RADIANS_PER_DEGREE).cos();
    1.0 - one_minus / (1.0 - (60.0 * RADIANS_PER_DEGREE).cos()) / 2.0
}

fn sine_first_quadrant(x: f64) -> f64 {
    if x <= 30.0 { sine_to_30(x) } else { cosine_to_60(90.0 - x) }
}

fn cosine_first_quadrant(x: f64) -> f64 {
    if x <= 60.0 { cosine_to_60(x) } else { sine_to_30(90.0 - x) }
}

/// Sine.
pub(super) fn sind(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let mut angle = x % 360.0;
    let mut sign = 1.0;
    if angle < 0.0 {
        angle = -angle;
        sign = -sign;
    }
    if angle > 180.0 {
        angle = 360.0 - angle;
        sign = -sign;
    }
    if angle > 90.0 {
        angle = 180.0 - angle;
    }
    sign * sine_first_quadrant(angle)
}

/// Cosine.
pub(super) fn cosd(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let mut angle = (x % 360.0).abs();
    let mut sign = 1.0;
    if angle > 180.0 {
        angle = 360.0 - angle;
    }
    if angle > 90.0 {
        angle = 180.0 - angle;
        sign = -sign;
    }
    sign * cosine_first_quadrant(angle)
}

/// The angle in the first quadrant with the same tangent up to the sign, and the sign.
fn tangent_angle(x: f64) -> (f64, f64) {
    let mut angle = x % 360.0;
    let mut sign = 1.0;
    if angle < 0.0 {
        angle = -angle;
        sign = -sign;
    }
    if angle > 180.0 {
        angle = 360.0 - angle;
        sign = -sign;
    }
    if angle > 90.0 {
        angle = 180.0 - angle;
        sign = -sign;
    }
    (angle, sign)
}

/// Tangent.
pub(super) fn tand(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let (angle, sign) = tangent_angle(x);
    let at_45 = sine_first_quadrant(45.0) / cosine_first_quadrant(45.0);
    let result = sign * (sine_first_quadrant(angle) / cosine_first_quadrant(angle)) / at_45;
    // no negative zero
    if result == 0.0 { 0.0 } else { result }
}

/// Cotangent.
pub(super) fn cotd(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let (angle, sign) = tangent_angle(x);
    let at_45 = cosine_first_quadrant(45.0) / sine_first_quadrant(45.0);
    let result = sign * (cosine_first_quadrant(angle) / sine_first_quadrant(angle)) / at_45;
    if result == 0.0 { 0.0 } else { result }
}

/// Arc sine of 0 to 1, and arc cosine of the same.
fn arc_sine_first_quadrant(x: f64) -> f64 {
    if x <= 0.5 { x.asin() / 0.5_f64.asin() * 30.0 } else { 90.0 - x.acos() / 0.5_f64.acos() * 60.0 }
}

fn arc_cosine_first_quadrant(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / 0.5_f64.asin() * 30.0 } else { x.acos() / 0.5_f64.acos() * 60.0 }
}

/// Arc sine.
pub(super) fn asind(x: f64) -> f64 {
    if x >= 0.0 { arc_sine_first_quadrant(x) } else { -arc_sine_first_quadrant(-x) }
}

/// Arc cosine.
pub(super) fn acosd(x: f64) -> f64 {
    if x >= 0.0 { arc_cosine_first_quadrant(x) } else { 90.0 + arc_sine_first_quadrant(-x) }
}

/// Arc tangent.
pub(super) fn atand(x: f64) -> f64 {
    x.atan() / 1.0_f64.atan() * 45.0
}

/// Arc tangent of a quotient.
pub(super) fn atan2d(y: f64, x: f64) -> f64 {
    y.atan2(x) / 1.0_f64.atan() * 45.0
}
